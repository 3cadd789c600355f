// What the owner does with the account itself: recovery codes, a copy of its data, its end.

import { call } from "./api.js";
import { open, submitted, withStepUp } from "./dialogs.js";
import { around, nodes, text } from "./language.js";
import { explain, when } from "./words.js";

const find = (id) => document.getElementById(id);

/** Shows how many recovery codes are left. */
export async function loadCodes() {
  const { left, createdAt } = await call("GET", "/v1/me/recovery-codes");
  const some = () => nodes("codes.left", { count: left, made: when(createdAt) });
  find("codes-text").replaceChildren(...(left > 0 ? some() : [text("codes.none")]));
}

/**
 * Makes recovery codes, and shows them this once.
 *
 * @returns {Promise<boolean>} whether they were made
 */
export async function makeCodes() {
  const made = await withStepUp(() => call("POST", "/v1/me/recovery-codes"));
  if (!made) return false;
  const list = find("code-list");
  list.replaceChildren(
    ...made.codes.map((code) => {
      const element = document.createElement("li");
      element.textContent = code;
      return element;
    }),
  );
  const copy = find("codes-copy");
  const told = find("codes-copied");
  told.textContent = "";
  copy.onclick = async () => {
    try {
      await navigator.clipboard.writeText(made.codes.join("\n"));
      told.textContent = text("codes.copied");
    } catch {
      told.textContent = text("codes.not-copied");
    }
  };
  await open(find("codes"));
  list.replaceChildren();
  return true;
}

/** How long a browser may take to begin saving a file, in milliseconds. */
const savingTime = 60_000;

/** Downloads a copy of what is kept of the account; of a long audit all parts. */
export async function download() {
  const whole = await call("GET", "/v1/account/export");
  while (whole.next) {
    const part = await call("GET", `/v1/account/export?after=${whole.next}`);
    whole.audit.push(...part.audit);
    whole.next = part.next;
  }
  delete whole.next;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(whole, null, 2)], { type: "application/json" }));
  link.download = "account.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), savingTime);
}

/**
 * Deletes the account, once its name was typed.
 *
 * @param {{username: string}} me
 * @returns {Promise<boolean>} whether it is deleted
 */
export async function deleteAccount({ username }) {
  const dialog = find("delete-account");
  const input = find("delete-name");
  const error = find("delete-error");
  const form = find("delete-form");
  find("delete-username").textContent = username;
  around(find("delete-username"), "delete.name");
  input.value = "";
  error.textContent = "";
  input.removeAttribute("aria-invalid");
  const fail = (reason) => {
    error.textContent = reason;
    input.setAttribute("aria-invalid", "true");
    input.focus();
  };
  form.onsubmit = submitted(form, async () => {
    if (!input.value.trim()) return fail(text("delete.no-name"));
    try {
      const isDone = await withStepUp(async () => {
        await call("DELETE", "/v1/account", { username: input.value.trim() });
        return true;
      });
      if (isDone) dialog.close("done");
    } catch (failure) {
      fail(failure.code === "invalid_request" ? text("delete.wrong-name") : explain(failure));
    }
  });
  find("delete-cancel").onclick = () => dialog.close("");
  return (await open(dialog)) === "done";
}
