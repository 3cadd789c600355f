// Signing in, by password or by passkey.

import { call } from "./api.js";
import { submitted } from "./dialogs.js";
import { text } from "./language.js";
import * as passkeys from "./passkeys.js";
import { clientName, explain } from "./words.js";

const find = (id) => document.getElementById(id);
const form = find("sign-in-form");
const username = find("username");
const password = find("password");
const error = find("sign-in-error");
const show = find("show-password");

/** A ceremony is good for five minutes; the one behind the field is begun anew before. */
const ceremonyLifetime = 240_000;

/** @type {() => void} */
let signedIn = () => {};
let isOpen = false;
let turn = 0;

function fail(reason, field) {
  error.textContent = reason;
  for (const one of [username, password]) {
    one.toggleAttribute("aria-invalid", false);
    one.removeAttribute("aria-describedby");
  }
  if (!field) return;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", error.id);
  field.focus();
}

function finish() {
  if (!isOpen) return;
  isOpen = false;
  turn += 1;
  passkeys.abort();
  form.reset();
  hidePassword();
  fail("");
  signedIn();
}

function hidePassword() {
  password.type = "password";
  show.setAttribute("aria-pressed", "false");
}

/** Passkeys among the browser's suggestions for the user name, where it can. */
async function offerPasskeys() {
  turn += 1;
  const mine = turn;
  if (!passkeys.canUsePasskeys || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  const timer = setTimeout(() => mine === turn && isOpen && offerPasskeys(), ceremonyLifetime);
  try {
    if (mine !== turn || !isOpen) return;
    await passkeys.signIn({ mediation: "conditional" });
    finish();
  } catch (failure) {
    // Nobody asked for it, so that only what somebody did is told: a passkey that was chosen and refused.
    if (mine === turn && isOpen && failure.status === 401) fail(explain(failure, "passkey"));
  } finally {
    clearTimeout(timer);
  }
}

form.onsubmit = submitted(form, async () => {
  fail("");
  if (!username.value.trim()) return fail(text("sign-in.no-username"), username);
  if (!password.value) return fail(text("sign-in.no-password"), password);
  try {
    await call("POST", "/v1/login/password", {
      username: username.value.trim(),
      password: password.value,
      client: clientName(),
      session: "cookie",
    });
    finish();
  } catch (failure) {
    fail(explain(failure, "password"), failure.code === "authentication_failed" ? password : undefined);
    if (failure.code === "authentication_failed") password.select();
  }
});

find("passkey-sign-in").addEventListener("click", async () => {
  fail("");
  turn += 1;
  try {
    await passkeys.signIn();
    finish();
  } catch (failure) {
    fail(explain(failure, "passkey"));
    offerPasskeys();
  }
});

show.addEventListener("click", () => {
  const isShown = password.type === "text";
  password.type = isShown ? "password" : "text";
  show.setAttribute("aria-pressed", String(!isShown));
});

/** Stops offering passkeys, while something else is shown. */
export function pause() {
  isOpen = false;
  turn += 1;
  passkeys.abort();
}

/** Begins; `done` is called once somebody has signed in. */
export function begin(done) {
  signedIn = done;
  isOpen = true;
  fail("");
  find("passkey-choice").hidden = !passkeys.canUsePasskeys;
  find("no-passkeys").hidden = passkeys.canUsePasskeys;
  offerPasskeys();
}
