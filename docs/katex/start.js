// Typesets what the Markdown extension marked as formulas, also after instant navigation.
const typeset = () => {
  for (const element of document.querySelectorAll(".arithmatex")) {
    renderMathInElement(element, {
      delimiters: [
        { left: "\\(", right: "\\)", display: false },
        { left: "\\[", right: "\\]", display: true },
      ],
      throwOnError: false,
    });
  }
};
document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", typeset) : typeset();
