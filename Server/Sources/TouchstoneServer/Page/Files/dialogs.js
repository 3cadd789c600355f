// What is asked in a dialog. The browser keeps the focus in it, closes it at Escape and gives the focus back.

import { call } from "./api.js";
import { text } from "./language.js";
import * as passkeys from "./passkeys.js";
import { clientName, explain } from "./words.js";

const find = (id) => document.getElementById(id);

/** Does what a form is for, and not a second time while that lasts. */
export function submitted(form, action) {
  return async (event) => {
    event.preventDefault();
    if (form.getAttribute("aria-busy") === "true") return;
    form.setAttribute("aria-busy", "true");
    try {
      await action();
    } finally {
      form.removeAttribute("aria-busy");
    }
  };
}

/** Opens a dialog; resolves to what it was closed with. */
export function open(dialog) {
  return new Promise((resolve) => {
    dialog.returnValue = "";
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
    dialog.showModal();
  });
}

/**
 * Asks whether to do something that cannot be undone.
 *
 * @param {{title: (string | Element)[], explanation: string, yes: string}} question
 */
export async function confirm({ title, explanation, yes }) {
  find("confirm-title").replaceChildren(...title);
  find("confirm-text").textContent = explanation;
  find("confirm-yes").textContent = yes;
  return (await open(find("confirm"))) === "confirm";
}

/**
 * Asks for a name, and gives it to `save` until that takes it.
 *
 * @param {{title: (string | Element)[], name: string, save: (name: string) => Promise<void>}} question
 */
export async function rename({ title, name, save }) {
  const dialog = find("rename");
  const input = find("rename-name");
  const error = find("rename-error");
  find("rename-title").replaceChildren(...title);
  input.value = name;
  error.textContent = "";
  input.removeAttribute("aria-invalid");
  const form = find("rename-form");
  form.onsubmit = submitted(form, async () => {
    const label = input.value.trim();
    let reason = label ? "" : text("rename.no-name");
    if (label) {
      try {
        await save(label);
      } catch (failure) {
        reason = explain(failure);
      }
    }
    if (!reason) return dialog.close("saved");
    error.textContent = reason;
    input.setAttribute("aria-invalid", "true");
    input.focus();
  });
  find("rename-cancel").onclick = () => dialog.close("");
  const closed = open(dialog);
  input.select();
  return (await closed) === "saved";
}

/** Asks for a new password, until the server takes it; resolves to whether it did. */
export async function changePassword({ username, hasPassword }) {
  const dialog = find("new-password");
  const error = find("new-password-error");
  const current = find("current-password");
  const next = find("next-password");
  find("current-password-part").hidden = !hasPassword;
  find("new-password-username").value = username;
  error.textContent = "";
  for (const input of [current, next]) {
    input.value = "";
    input.removeAttribute("aria-invalid");
  }
  const fail = (reason, input) => {
    error.textContent = reason;
    for (const one of [current, next]) one.removeAttribute("aria-invalid");
    input.setAttribute("aria-invalid", "true");
    input.focus();
  };
  const form = find("new-password-form");
  form.onsubmit = submitted(form, async () => {
    if (hasPassword && !current.value) return fail(text("password.no-current"), current);
    if (!next.value) return fail(text("password.no-new"), next);
    const body = { new: next.value, ...(hasPassword && { current: current.value }) };
    try {
      const isDone = await withStepUp(async () => {
        await call("PUT", "/v1/me/password", body);
        return true;
      });
      if (isDone) dialog.close("done");
    } catch (failure) {
      if (failure.code === "authentication_failed") fail(text("password.wrong"), current);
      else fail(explain(failure), next);
    }
  });
  find("new-password-cancel").onclick = () => dialog.close("");
  const done = (await open(dialog)) === "done";
  for (const input of [current, next]) input.value = "";
  return done;
}

/** Lets somebody show again who it is; resolves to whether that was done. */
async function stepUp() {
  const me = await call("GET", "/v1/me");
  const dialog = find("step-up");
  const error = find("step-up-error");
  const input = find("step-up-password");
  // What is as strong as the sign-in of this session.
  const byPasskey = me.stepUp.includes("passkey") && passkeys.canUsePasskeys;
  const byPassword = me.stepUp.includes("password");
  find("step-up-passkey").hidden = !byPasskey;
  find("step-up-password-part").hidden = !byPassword;
  find("step-up-or").hidden = !byPasskey;
  find("step-up-username").value = me.username;
  error.textContent = byPasskey || byPassword ? "" : text("step-up.nothing");
  input.value = "";
  const attempt = (occasion, body) => async () => {
    error.textContent = "";
    try {
      await body();
      dialog.close("done");
    } catch (failure) {
      error.textContent = occasion === "password" && failure.code === "authentication_failed"
        ? text("step-up.wrong")
        : explain(failure, occasion);
      if (occasion === "password") input.focus();
    }
  };
  find("step-up-passkey").onclick = attempt("passkey", () => passkeys.signIn({ purpose: "reauth" }));
  const form = find("step-up-form");
  form.onsubmit = submitted(
    form,
    attempt("password", () =>
      call("POST", "/v1/login/password", {
        username: me.username,
        password: input.value,
        client: clientName(),
        purpose: "reauth",
        session: "cookie",
      }),
    ),
  );
  find("step-up-cancel").onclick = () => dialog.close("");
  const done = (await open(dialog)) === "done";
  passkeys.abort();
  input.value = "";
  return done;
}

/**
 * Does what the server may want a fresh authentication for (RFC 9470).
 *
 * @param {() => Promise<any>} action
 * @returns {Promise<any>} its result; undefined when somebody rather did not
 */
export async function withStepUp(action) {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      if (error?.code !== "insufficient_user_authentication") throw error;
      if (!(await stepUp())) return undefined;
    }
  }
}
