// The page: which of its views is shown, and what is told.

import * as account from "./account.js";
import { call } from "./api.js";
import * as signIn from "./sign-in.js";
import { explain } from "./words.js";

const find = (id) => document.getElementById(id);
const views = ["view-loading", "view-sign-in", "view-account"];
const relyingParty = find("relying-party").textContent;

/**
 * Where it is kept which account this browser is signed in to: whoever comes for the first time is not asked for a
 * session, and other windows hear of a change. It is no secret; the session itself is in cookies.
 */
const key = "touchstone-account";

/** @type {string | null} */
let current = null;

function remember(id) {
  current = id;
  try {
    if (id) localStorage.setItem(key, id);
    else localStorage.removeItem(key);
  } catch {
    // Without storage each visit begins by signing in.
  }
}

function remembered() {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
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
  remember(null);
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
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close("");
    await account.begin(me, { tell, fail });
    find("who-name").textContent = me.displayName === me.username ? me.username : me.displayName;
    remember(me.id);
    tell("");
    show("view-account", "Your account");
    await account.focusFirst();
  } catch (error) {
    if (error.code === "invalid_token") return showSignIn();
    if (find("view-account").hidden) {
      show("view-loading", "Your account");
      find("loading").hidden = true;
      find("retry").hidden = false;
    }
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

find("retry").addEventListener("click", () => showAccount());

// Another window signed in or out: the cookies are its session's now, and what is shown here would be another's.
addEventListener("storage", (event) => {
  if (event.key !== key || event.newValue === current) return;
  if (event.newValue) showAccount();
  else showSignIn("You were signed out in another window.");
});

// A page that the browser kept may show a session that is over.
addEventListener("pageshow", (event) => event.persisted && start());

function start() {
  if (remembered()) showAccount();
  else showSignIn();
}

start();
