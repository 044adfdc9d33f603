// Code with colours.  TVMScript is Python, so the words of Python are enough; what is not known stays plain.
"use strict";
RF.TOKENS = new RegExp([
  "(?<com>#[^\\n]*)",
  "(?<str>[rbfuRBFU]{0,2}(?:\"\"\"[\\s\\S]*?(?:\"\"\"|$)|'''[\\s\\S]*?(?:'''|$)|\"(?:\\\\.|[^\"\\\\\\n])*\"?|'(?:\\\\.|[^'\\\\\\n])*'?))",
  "(?<dec>@[\\w.]+)",
  "(?<key>\\b(?:and|as|assert|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|" +
    "is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\\b)",
  "(?<num>\\b(?:0[xX][\\da-fA-F]+|\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\b)",
  "(?<fun>\\b(?:[A-Za-z_]\\w*\\.)*[A-Za-z_]\\w*(?=\\())",
  "(?<plain>[A-Za-z_]\\w*(?:\\.[A-Za-z_]\\w*)*)", // a dotted name as a whole, lest each of its parts be read to its end
].join("|"), "g");

RF.COLOURED = 20000; // characters of a text that get colours

RF.highlight = function (text) {
  const parts = document.createDocumentFragment();
  let end = 0;
  for (const match of text.matchAll(RF.TOKENS)) {
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    if (kind === "plain") continue;
    if (match.index > end) parts.append(text.slice(end, match.index));
    parts.append(RF.h("span", { class: `t-${kind}` }, match[0]));
    end = match.index + match[0].length;
  }
  parts.append(text.slice(end));
  return parts;
};

RF.code = function (title, text, options = {}) {
  const body = options.plain || text.length > RF.COLOURED ? text : RF.highlight(text);
  return RF.h("div", { class: "code" },
    RF.h("div", { class: "top" }, RF.h("span", { class: "small" }, title),
      RF.copy(options.copy || "Copy", () => text)),
    RF.h("pre", { class: options.plain || options.wrap ? "message" : null, tabindex: "0" }, RF.h("code", null, body)));
};
