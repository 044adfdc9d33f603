// As much of a browser's document as the page's scripts use, to run them where there is no browser: a tree of elements
// and text.  There is no markup in it: whoever assigns or inserts some is stopped.  What a browser alone can tell
// (layout, colours, the clipboard, the security policy) is told by test_page_clicks.py.
"use strict";
class Node {
  constructor() { this.parentNode = null; this.childNodes = []; }
  append(...items) { for (const item of items) this.adopt(item, this.childNodes.length); }
  adopt(item, at) {
    if (item instanceof Fragment) return [...item.childNodes].forEach((each, index) => this.adopt(each, at + index));
    const node = item instanceof Node ? item : new Text(String(item));
    node.remove();
    node.parentNode = this;
    this.childNodes.splice(at, 0, node);
  }
  remove() {
    if (this.parentNode) this.parentNode.childNodes.splice(this.parentNode.childNodes.indexOf(this), 1);
    this.parentNode = null;
  }
  before(item) { this.parentNode.adopt(item, this.parentNode.childNodes.indexOf(this)); }
  replaceChildren(...items) { for (const node of [...this.childNodes]) node.remove(); this.append(...items); }
  get textContent() { return this.childNodes.map((node) => node.textContent).join(""); }
  set textContent(text) { this.replaceChildren(String(text)); }
}
class Text extends Node {
  constructor(data) { super(); this.data = data; }
  get textContent() { return this.data; }
}
class Fragment extends Node {}
class Element extends Node {
  constructor(tag) {
    super();
    this.tagName = tag.toLowerCase();
    this.attributes = {};
    this.listeners = {};
    this.style = {};
    this.clientWidth = 800;
    const names = () => (this.attributes.class || "").split(/\s+/).filter(Boolean);
    this.classList = { contains: (name) => names().includes(name), add: (name) => { this.attributes.class = [...names(), name].join(" "); } };
    this.dataset = new Proxy({}, { get: (_, key) => this.attributes[`data-${String(key)}`],
      set: (_, key, value) => { this.attributes[`data-${key}`] = String(value); return true; } });
  }
  setAttribute(name, value) { this.attributes[name] = String(value); if (name === "value") this.value = String(value); }
  getAttribute(name) { return name in this.attributes ? this.attributes[name] : null; }
  showModal() {}
  removeAttribute(name) { delete this.attributes[name]; }
  addEventListener(type, act) { (this.listeners[type] ||= []).push(act); }
  fire(type) { for (const act of this.listeners[type] || []) act({ target: this, preventDefault() {}, stopPropagation() {} }); }
  get children() { return this.childNodes.filter((node) => node instanceof Element); }
  get all() { return this.children.flatMap((node) => [node, ...node.all]); }
  // Only "tag", ".class", "#id" and "[name=value]" one after another, and a space for "somewhere in it".
  matches(selector) {
    return [...selector.matchAll(/([.#]?)([\w-]+)|\[([\w-]+)(?:="([^"]*)")?\]/g)].every(([, mark, name, attribute, value]) =>
      attribute ? attribute in this.attributes && (value === undefined || this.attributes[attribute] === value)
        : mark === "." ? this.classList.contains(name) : mark === "#" ? this.attributes.id === name : this.tagName === name);
  }
  querySelectorAll(selector) {
    const [first, ...rest] = selector.trim().split(/\s+/);
    const found = this.all.filter((node) => node.matches(first));
    return rest.length ? [...new Set(found.flatMap((node) => node.querySelectorAll(rest.join(" "))))] : found;
  }
  querySelector(selector) { return this.querySelectorAll(selector)[0] || null; }
}
for (const name of ["innerHTML", "outerHTML", "srcdoc"]) {
  Object.defineProperty(Element.prototype, name, { set() { throw new Error(`text is parsed as markup: ${name}`); } });
}
Element.prototype.insertAdjacentHTML = () => { throw new Error("text is parsed as markup: insertAdjacentHTML"); };

const document = new Element("html");
Object.assign(document, {
  documentElement: document, createElement: (tag) => new Element(tag), createElementNS: (_, tag) => new Element(tag),
  createDocumentFragment: () => new Fragment(), createTextNode: (text) => new Text(text),
  getElementById: (id) => document.querySelector(`#${id}`),
});
document.write = () => { throw new Error("text is parsed as markup: write"); };
document.body = new Element("body");
document.append(document.body);
for (const [tag, id] of [["nav", ""], ["button", "theme"], ["main", "main"]]) {
  const node = new Element(tag);
  node.setAttribute("id", id);
  document.body.append(node);
}
class URLSearchParams {
  constructor(text) {
    this.pairs = text.split("&").filter(Boolean).map((pair) => pair.split("=").map((part) => decodeURIComponent(part.replace(/\+/g, " "))));
  }
  get(name) { return this.getAll(name)[0] ?? null; }
  getAll(name) { return this.pairs.filter(([key]) => key === name).map(([, value]) => value); }
  keys() { return this.pairs.map(([key]) => key)[Symbol.iterator](); }
}
const location = { hash: "" };
const window = new Element("window");
Object.assign(window, { matchMedia: () => ({ matches: false, addEventListener() {} }), innerWidth: 1280, scrollTo() {} });
const localStorage = { getItem: () => null, setItem() {} };
const navigator = {};
const getComputedStyle = () => ({ getPropertyValue: () => "#000" });
const drawn = [];  // the charts: what uPlot was given
class uPlot { constructor(options, data) { this.options = options; drawn.push({ options, data }); } destroy() {} }
uPlot.paths = { stepped: () => null };
