// Making an account for oneself, where the administrator allows it.

import { call } from "./api.js";
import { submitted } from "./dialogs.js";
import { text } from "./language.js";
import { clientName, explain } from "./words.js";

const find = (id) => document.getElementById(id);

/** Whether it is allowed. */
export const isOpen = document.body.dataset.selfRegistration === "on";

/**
 * Asks for a name and a password.
 *
 * @param {{opened: () => void, cancelled: () => void}} page
 */
export function begin({ opened, cancelled }) {
  const form = find("register-form");
  const error = find("register-error");
  const username = find("register-username");
  const password = find("register-password");
  const fail = (reason, field) => {
    error.textContent = reason;
    for (const one of [username, password]) one.removeAttribute("aria-invalid");
    field?.setAttribute("aria-invalid", "true");
    field?.focus();
  };
  form.reset();
  fail("");
  form.onsubmit = submitted(form, async () => {
    fail("");
    const name = username.value.trim();
    if (!name) return fail(text("register.no-username"), username);
    if (!password.value) return fail(text("register.no-password"), password);
    try {
      const account = { username: name, password: password.value };
      await call("POST", "/v1/accounts", account);
      await call("POST", "/v1/login/password", { ...account, client: clientName(), session: "cookie" });
      form.reset();
      opened();
    } catch (failure) {
      fail(explain(failure), ["username_taken", "invalid_request"].includes(failure.code) ? username : password);
    }
  });
  find("register-cancel").onclick = cancelled;
  username.focus();
}
