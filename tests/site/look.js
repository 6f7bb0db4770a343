// What tests ask of a page: what is cut off, and what can't be read.
window.look = (() => {
  const wide = () => document.documentElement.clientWidth;

  const scrolls = (one) => {
    for (let at = one; at && at !== document.body; at = at.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(at).overflowX)) return true;
    return false;
  };

  // Things that reach beyond the window, and can't be scrolled to in a box of their own.
  const cutOff = () => {
    const page = document.documentElement.scrollWidth;
    const found = page > wide() + 1 ? [`page: ${page}`] : [];
    const kinds = ["pre", "table", "img", "dt", "p", "svg"].map((kind) => `article ${kind}`);
    for (const one of document.querySelectorAll(kinds.join())) {
      const box = one.getBoundingClientRect();
      if (box.width && box.right > wide() + 1 && !scrolls(one))
        found.push(`${one.tagName} ${(one.innerText || one.src || "").slice(0, 60)}`);
    }
    for (const one of document.querySelectorAll("article :is(h1, h2, h3)"))
      if (one.scrollWidth > one.clientWidth + 1) found.push(`title ${one.innerText.slice(0, 60)}`);
    return found;
  };

  // Code that has to be scrolled to be read: the longest line of each. What it printed may have to
  // be, on a telephone.
  const printed = ".highlight-text, .highlight-none, .sphx-glr-script-out";
  const scrolledCode = () =>
    [...document.querySelectorAll("article pre")]
      .filter((one) => wide() > 600 || !one.closest(printed))
      .filter((one) => one.clientWidth && one.scrollWidth > one.clientWidth + 1)
      .map((one) => one.innerText.split("\n").reduce((a, b) => (a.length > b.length ? a : b)));

  const parts = (colour) => {
    const found = colour.match(/[\d.]+/g).map(Number);
    const scale = colour.startsWith("color(srgb") ? 255 : 1;
    return [...found.slice(0, 3).map((part) => part * scale), found[3] ?? 1];
  };
  const over = (front, back) =>
    [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);
  const luminance = (colour) => {
    const [r, g, b] = colour
      .slice(0, 3)
      .map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };

  // What is behind a text; null before a picture.
  const behind = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.backgroundImage !== "none") return null;
      layers.push(parts(style.backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reverse().reduce((back, front) => over(front, back), [255, 255, 255, 1]);
  };

  const opacity = (one) => {
    let share = 1;
    for (let at = one; at; at = at.parentElement) share *= Number(getComputedStyle(at).opacity);
    return share;
  };

  const shown = (one) =>
    [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) &&
    one.getBoundingClientRect().width > 0 &&
    !one.closest("svg, [aria-hidden=true], .sk-estimator-doc-link") && // scikit-learn's own
    one.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  // Texts with less contrast than WCAG AA asks for (4.5, and 3 for large ones), by their colours.
  const faint = (within) => {
    const found = {};
    for (const one of document.querySelectorAll(within)) {
      const back = shown(one) ? behind(one) : null;
      if (back === null) continue;
      const style = getComputedStyle(one);
      const [r, g, b, alpha] = parts(style.color);
      const text = over([r, g, b, alpha * opacity(one)], back);
      const ends = [text, back].map(luminance).sort((a, b) => b - a);
      const ratio = (ends[0] + 0.05) / (ends[1] + 0.05);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700);
      if (ratio < (large ? 3 : 4.5))
        found[`${style.color} on ${back.slice(0, 3).map(Math.round)}`] =
          `${ratio.toFixed(2)} ${one.tagName} ${one.textContent.trim().slice(0, 40)}`;
    }
    return found;
  };

  return { cutOff, scrolledCode, faint };
})();
