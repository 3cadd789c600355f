// Getting into an account without a credential: by a link or a recovery code, and what such a session is for.

import { call } from "./api.js";
import { submitted } from "./dialogs.js";
import { around, has, sentences, text } from "./language.js";
import * as passkeys from "./passkeys.js";
import { clientName, explain } from "./words.js";

const find = (id) => document.getElementById(id);

/** What becomes of what signed in before; shown once the session is open. */
let said = "";

/** Opens the session, and keeps what is told of it. */
async function open(path, body) {
  const request = { ...body, client: clientName(), session: "cookie" };
  const { credentials, codesLeft } = await call("POST", path, request);
  const outcome = `outcome.${credentials}`;
  const left = codesLeft !== undefined && text("set-up.codes-left", { count: codesLeft });
  said = sentences(has(outcome) && text(outcome), left);
}

/**
 * Offers to use a link: not by itself, so that a program that looks at links does not use it up.
 *
 * @param {string} token
 * @param {{opened: () => void, cancelled: () => void}} page
 */
export function beginLink(token, { opened, cancelled }) {
  const error = find("link-error");
  const form = find("link-form");
  error.textContent = "";
  find("link-submit").hidden = false;
  form.onsubmit = submitted(form, async () => {
    error.textContent = "";
    try {
      await open("/v1/links/redeem", { token });
      opened();
    } catch (failure) {
      error.textContent = explain(failure);
      if (failure.code === "link_invalid") find("link-submit").hidden = true;
    }
  });
  find("link-cancel").onclick = cancelled;
}

/**
 * Asks for a user name and a recovery code.
 *
 * @param {{opened: () => void, cancelled: () => void}} page
 */
export function beginRecovery({ opened, cancelled }) {
  const form = find("recover-form");
  const error = find("recover-error");
  const fields = [find("recover-username"), find("recover-code")];
  const [username, code] = fields;
  const fail = (reason, field) => {
    error.textContent = reason;
    for (const one of fields) one.removeAttribute("aria-invalid");
    field?.setAttribute("aria-invalid", "true");
    field?.focus();
  };
  form.reset();
  fail("");
  username.value = find("username").value;
  form.onsubmit = submitted(form, async () => {
    fail("");
    if (!username.value.trim()) return fail(text("sign-in.no-username"), username);
    if (!code.value.trim()) return fail(text("recover.no-code"), code);
    const credentials = new FormData(form).get("credentials");
    if (!credentials) return fail(text("recover.no-choice"), find("recover-keep"));
    try {
      await open("/v1/recovery", { username: username.value.trim(), code: code.value.trim(), credentials });
      form.reset();
      opened();
    } catch (failure) {
      const isWrong = failure.code === "authentication_failed";
      fail(isWrong ? text("recover.wrong") : explain(failure), code);
    }
  });
  find("recover-cancel").onclick = cancelled;
  (username.value ? code : username).focus();
}

/**
 * Shows what a limited session is for.
 *
 * @param {{username: string, task: "set_up" | "change_password", hasPassword: boolean}} me
 * @param {(text: string) => void} ended is called once the session has ended
 */
export function beginSetUp(me, ended) {
  const isChange = me.task === "change_password";
  const form = find("set-up-form");
  const error = find("set-up-error");
  const current = find("set-up-current");
  const next = find("set-up-next");
  const fail = (reason, field) => {
    error.textContent = reason;
    for (const one of [current, next]) one.removeAttribute("aria-invalid");
    field?.setAttribute("aria-invalid", "true");
    field?.focus();
  };
  const end = (notice) => {
    form.reset();
    said = "";
    ended(notice);
  };
  form.reset();
  fail("");
  find("set-up-title").textContent = text(isChange ? "set-up.choose" : "set-up.title");
  find("set-up-name").textContent = me.username;
  around(find("set-up-name"), "set-up.account");
  find("set-up-username").value = me.username;
  find("set-up-text").textContent = isChange ? text("set-up.must-change") : said;
  find("set-up-passkey-part").hidden = isChange || !passkeys.canUsePasskeys;
  find("set-up-current-part").hidden = !isChange;
  find("set-up-submit").textContent = text(isChange ? "change" : "set-up.set");
  find("set-up-passkey").onclick = async () => {
    fail("");
    try {
      await passkeys.register();
      end(text("set-up.passkey-added"));
    } catch (failure) {
      if (failure.code === "invalid_token") return end(explain(failure));
      fail(explain(failure));
    }
  };
  form.onsubmit = submitted(form, async () => {
    fail("");
    if (isChange && !current.value) return fail(text("password.no-current"), current);
    if (!next.value) return fail(text("password.no-new"), next);
    try {
      await call("PUT", "/v1/me/password", { new: next.value, ...(isChange && { current: current.value }) });
      end(text(isChange ? "set-up.password-changed" : "set-up.password-set"));
    } catch (failure) {
      if (failure.code === "invalid_token") return end(explain(failure));
      if (failure.code === "authentication_failed") return fail(text("password.wrong"), current);
      fail(explain(failure), next);
    }
  });
  find("set-up-cancel").onclick = async () => {
    try {
      await call("POST", "/v1/logout");
    } catch (failure) {
      if (failure.code !== "invalid_token") return fail(explain(failure));
    }
    end(text("signed-out"));
  };
}
