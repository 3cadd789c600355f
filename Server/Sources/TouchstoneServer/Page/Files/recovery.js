// Getting into an account without a credential: by a link or a recovery code, and what such a session is for.

import { call } from "./api.js";
import { submitted } from "./dialogs.js";
import * as passkeys from "./passkeys.js";
import { clientName, explain } from "./words.js";

const find = (id) => document.getElementById(id);

/** What becomes of what signed in before; shown once the session is open. */
const outcomes = {
  keep: "What signed you in before, and where you are signed in, stay as they are.",
  end: "All passkeys, the password and all sessions have ended. Nothing signs in until you have set up something new.",
};

let said = "";

/** Opens the session, and keeps what is told of it. */
async function open(path, body) {
  const { credentials, codesLeft } = await call("POST", path, { ...body, client: clientName(), session: "cookie" });
  said = outcomes[credentials] ?? "";
  if (codesLeft !== undefined) said += ` Recovery codes left: ${codesLeft}.`;
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
  const fail = (text, field) => {
    error.textContent = text;
    for (const one of fields) one.removeAttribute("aria-invalid");
    field?.setAttribute("aria-invalid", "true");
    field?.focus();
  };
  form.reset();
  fail("");
  username.value = find("username").value;
  form.onsubmit = submitted(form, async () => {
    fail("");
    if (!username.value.trim()) return fail("Enter your user name.", username);
    if (!code.value.trim()) return fail("Enter one of your recovery codes.", code);
    const credentials = new FormData(form).get("credentials");
    if (!credentials) return fail("Choose what happens to what signed you in before.", find("recover-keep"));
    try {
      await open("/v1/recovery", { username: username.value.trim(), code: code.value.trim(), credentials });
      form.reset();
      opened();
    } catch (failure) {
      const isWrong = failure.code === "authentication_failed";
      fail(isWrong ? "User name and code do not go together, or the code was used." : explain(failure), code);
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
  const fail = (text, field) => {
    error.textContent = text;
    for (const one of [current, next]) one.removeAttribute("aria-invalid");
    field?.setAttribute("aria-invalid", "true");
    field?.focus();
  };
  const end = (text) => {
    form.reset();
    said = "";
    ended(text);
  };
  form.reset();
  fail("");
  find("set-up-title").textContent = isChange ? "Choose a new password" : "Set up how you sign in";
  find("set-up-name").textContent = me.username;
  find("set-up-username").value = me.username;
  find("set-up-text").textContent = isChange
    ? "The password that you signed in with was chosen by the administrator and must be changed."
    : said;
  find("set-up-passkey-part").hidden = isChange || !passkeys.canUsePasskeys;
  find("set-up-current-part").hidden = !isChange;
  find("set-up-submit").textContent = isChange ? "Change" : "Set the password";
  find("set-up-passkey").onclick = async () => {
    fail("");
    try {
      await passkeys.register();
      end("The passkey was added. Sign in with it.");
    } catch (failure) {
      if (failure.code === "invalid_token") return end(explain(failure));
      fail(explain(failure));
    }
  };
  form.onsubmit = submitted(form, async () => {
    fail("");
    if (isChange && !current.value) return fail("Enter your current password.", current);
    if (!next.value) return fail("Enter a new password.", next);
    try {
      await call("PUT", "/v1/me/password", { new: next.value, ...(isChange && { current: current.value }) });
      end(isChange ? "The password was changed. Sign in with it." : "The password was set. Sign in with it.");
    } catch (failure) {
      if (failure.code === "invalid_token") return end(explain(failure));
      if (failure.code === "authentication_failed") return fail("That is not your current password.", current);
      fail(explain(failure), next);
    }
  });
  find("set-up-cancel").onclick = async () => {
    try {
      await call("POST", "/v1/logout");
    } catch (failure) {
      if (failure.code !== "invalid_token") return fail(explain(failure));
    }
    end("You are signed out.");
  };
}
