// The page: which of its views is shown, and what is told.

import * as account from "./account.js";
import { call } from "./api.js";
import * as signIn from "./sign-in.js";
import { explain } from "./words.js";

const find = (id) => document.getElementById(id);
const views = ["view-loading", "view-sign-in", "view-account"];
const relyingParty = find("relying-party").textContent;

/** Says that there may be a session: whoever comes for the first time is not asked for one. It is no secret. */
const hint = "touchstone-signed-in";

function remember(isSignedIn) {
  try {
    if (isSignedIn) localStorage.setItem(hint, "1");
    else localStorage.removeItem(hint);
  } catch {
    // Without storage each visit begins by signing in.
  }
}

function mayBeSignedIn() {
  try {
    return localStorage.getItem(hint) === "1";
  } catch {
    return false;
  }
}

function show(view, title) {
  for (const id of views) find(id).hidden = id !== view;
  find("who").hidden = view !== "view-account";
  document.title = `${title} – ${relyingParty}`;
}

function message(region, text, colour) {
  // The region stays and is filled anew, so that the same words are read again.
  const element = document.createElement("p");
  element.className = `message ${colour}`;
  element.textContent = text;
  find(region).replaceChildren(...(text ? [element] : []));
}

function tell(text) {
  message("alert", "", "bad");
  message("notice", text, "good");
}

function fail(error, text) {
  if (error?.code === "invalid_token") return showSignIn(explain(error));
  message("notice", "", "good");
  message("alert", text ?? explain(error), "bad");
}

function showSignIn(text = "") {
  remember(false);
  account.end();
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close("");
  show("view-sign-in", "Sign in");
  tell(text);
  signIn.begin(showAccount);
  find("username").focus();
}

async function showAccount() {
  try {
    const me = await call("GET", "/v1/me");
    await account.begin(me, { tell, fail });
    find("who-name").textContent = me.displayName === me.username ? me.username : me.displayName;
    remember(true);
    tell("");
    show("view-account", "Your account");
    await account.focusFirst();
  } catch (error) {
    if (error.code === "invalid_token") return showSignIn();
    if (find("view-account").hidden) show("view-loading", "Your account");
    fail(error);
  }
}

find("sign-out").addEventListener("click", async () => {
  try {
    await call("POST", "/v1/logout");
  } catch (error) {
    if (error.code !== "invalid_token") return fail(error);
  }
  showSignIn("You are signed out.");
});

if (mayBeSignedIn()) showAccount();
else showSignIn();
