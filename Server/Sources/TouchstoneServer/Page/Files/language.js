// The language of the page, which the server chose: its texts, numbers and dates.

/** As HTML names it: `en`, `tr`, `zh-Hans` or `ja`. */
export const language = document.documentElement.lang;
const code = language.slice(0, 2);

const { default: texts } = await import(`./${code}.js`);
const plurals = new Intl.PluralRules(language);

function pattern(key, values) {
  const found = texts[key];
  if (found === undefined) throw new Error(`no text has the key ${key}`);
  return typeof found === "string" ? found : found[plurals.select(values.count)] ?? found.other;
}

/** Whether there is a text. */
export const has = (key) => key in texts;

/**
 * A text, with values in place of names in braces.
 *
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function text(key, values = {}) {
  return pattern(key, values).replaceAll(/\{(\w+)\}/g, (_, name) => values[name]);
}

/**
 * The same as nodes: elements stay elements, and the writing direction of other values is kept from what is around them.
 *
 * @param {string} key
 * @param {Record<string, string | number | Element>} values
 * @returns {(string | Element)[]}
 */
export function nodes(key, values) {
  return pattern(key, values).split(/\{(\w+)\}/).map((part, index) => {
    if (index % 2 === 0) return part;
    const value = values[part];
    if (value instanceof Element) return value;
    const element = document.createElement("bdi");
    element.textContent = value;
    return element;
  });
}

/** Puts a text around an element, which is its value `{name}`. */
export function around(element, key) {
  element.parentElement.replaceChildren(...nodes(key, { name: element }));
}

/** Whole sentences, one after another. */
export function sentences(...parts) {
  return parts.filter(Boolean).join(code === "zh" || code === "ja" ? "" : " ");
}

/**
 * Lets somebody choose another language: the server reads the choice from a cookie, when the page is loaded anew.
 *
 * @param {() => void} leaving is called before
 */
export function offerLanguages(leaving) {
  for (const button of document.querySelectorAll("#languages button")) {
    if (button.value === code) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => {
      const secure = location.protocol === "https:" ? "; Secure" : "";
      document.cookie = `touchstone-language=${button.value}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
      leaving();
      location.reload();
    });
  }
}
