// Versions stand beside each other, wherever that is: what versions.json calls "./" or "../0.2.0/"
// is meant from the root of this site, and the theme would take it from the page.
document.addEventListener("DOMContentLoaded", () => {
  const root = document.documentElement.dataset.content_root;
  const mend = (menu) =>
    menu.querySelectorAll("a:not([data-mended])").forEach((link) => {
      link.dataset.mended = "yes";
      link.setAttribute("href", root + link.getAttribute("href"));
    });
  document.querySelectorAll(".version-switcher__menu").forEach((menu) => {
    new MutationObserver(() => mend(menu)).observe(menu, { childList: true });
    mend(menu);
  });
});
