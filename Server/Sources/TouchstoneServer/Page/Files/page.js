// The page: which of its views is shown, and what is told.

import * as account from "./account.js";
import { call } from "./api.js";
import { around, offerLanguages, text } from "./language.js";
import * as recovery from "./recovery.js";
import * as registration from "./registration.js";
import * as signIn from "./sign-in.js";
import { explain } from "./words.js";

const find = (id) => document.getElementById(id);
const views = [
  "view-loading", "view-sign-in", "view-register", "view-link", "view-recover", "view-set-up", "view-account",
];
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

function message(region, content, colour) {
  // The region stays and is filled anew, so that the same words are read again.
  const element = document.createElement("p");
  element.className = `message ${colour}`;
  element.append(...[content].flat());
  find(region).replaceChildren(...(content ? [element] : []));
}

/** @param {string | (string | Element)[]} content */
function tell(content) {
  message("alert", "", "bad");
  message("notice", content, "good");
}

function fail(error, reason) {
  if (error?.code === "invalid_token") return showSignIn(explain(error));
  message("notice", "", "good");
  message("alert", reason ?? explain(error), "bad");
}

/** Leaves what was shown for a view without an account. */
function leave(view, title) {
  account.end();
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close("");
  show(view, title);
}

function showSignIn(notice = "") {
  remember(null);
  leave("view-sign-in", text("sign-in"));
  tell(notice);
  signIn.begin(showAccount);
  find("username").focus();
}

async function showAccount() {
  try {
    const me = await call("GET", "/v1/me");
    if (me.task) return showSetUp(me);
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close("");
    await account.begin(me, { tell, fail, ended: showSignIn });
    find("who-name").textContent = me.displayName;
    around(find("who-name"), "signed-in-as");
    remember(me.id);
    tell("");
    show("view-account", text("your-account"));
    await account.focusFirst();
  } catch (error) {
    if (error.code === "invalid_token") return showSignIn();
    if (find("view-account").hidden) {
      show("view-loading", text("your-account"));
      find("loading").hidden = true;
      find("retry").hidden = false;
    }
    fail(error);
  }
}

/** The one thing that this session is for. */
function showSetUp(me) {
  remember(me.id);
  leave("view-set-up", text(me.task === "set_up" ? "set-up" : "new-password"));
  tell("");
  recovery.beginSetUp(me, showSignIn);
  find("set-up-title").focus();
}

/** The token of the link that is shown. */
let linkToken = "";

/** A link of the administrator: `#link=…`. The token is only kept here, and not in the browser's history. */
function showLink(token) {
  linkToken = token;
  history.replaceState(null, "", location.pathname);
  signIn.pause();
  leave("view-link", text("link"));
  tell("");
  recovery.beginLink(token, { opened: showAccount, cancelled: () => start() });
  find("link-title").focus();
}

find("use-code").addEventListener("click", () => {
  signIn.pause();
  leave("view-recover", text("recover"));
  tell("");
  recovery.beginRecovery({ opened: showAccount, cancelled: () => showSignIn() });
});

find("create-account").hidden = !registration.isOpen;
find("create-account").addEventListener("click", () => {
  signIn.pause();
  leave("view-register", text("register"));
  tell("");
  registration.begin({ opened: showAccount, cancelled: () => showSignIn() });
});

find("sign-out").addEventListener("click", async () => {
  try {
    await call("POST", "/v1/logout");
  } catch (error) {
    if (error.code !== "invalid_token") return fail(error);
  }
  showSignIn(text("signed-out"));
});

find("retry").addEventListener("click", () => showAccount());

// Another window signed in or out: the cookies are its session's now, and what is shown here would be another's.
addEventListener("storage", (event) => {
  if (event.key !== key || event.newValue === current) return;
  if (event.newValue) showAccount();
  else showSignIn(text("signed-out-elsewhere"));
});

// A page that the browser kept may show a session that is over.
addEventListener("pageshow", (event) => event.persisted && start());

// A link that is opened where the page is open already changes the fragment alone.
addEventListener("hashchange", () => linked() && start());

/** The token of a link that led here; undefined: none did. */
function linked() {
  return /^#link=([\w-]{1,256})$/.exec(location.hash)?.[1];
}

offerLanguages(() => {
  if (!find("view-link").hidden) history.replaceState(null, "", `#link=${linkToken}`);
});

function start() {
  const token = linked();
  if (token) showLink(token);
  else if (remembered()) showAccount();
  else showSignIn();
}

start();
