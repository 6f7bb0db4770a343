// Names of classes are broken between their words, where a line is too short for them.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("article h1").forEach((title) => {
    const words = title.firstChild?.nodeValue?.split(/(?<=[a-z])(?=[A-Z])/) ?? [];
    if (words.length > 1) title.firstChild.replaceWith(...words.flatMap((word) => [word, document.createElement("wbr")]));
  });
});
