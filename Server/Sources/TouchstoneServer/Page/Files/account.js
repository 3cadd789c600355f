// The account: what waits for approval, what signs in, and where it is signed in.

import { call } from "./api.js";
import { changePassword, confirm, rename, withStepUp } from "./dialogs.js";
import { has, nodes, text } from "./language.js";
import * as own from "./own.js";
import * as passkeys from "./passkeys.js";
import { approve, shown, signedText, title } from "./transactions.js";
import { assurance, authentication, duration, explain, suspension, when } from "./words.js";

const find = (id) => document.getElementById(id);

/** How often it is looked whether something waits, in milliseconds. */
const interval = 5000;

/**
 * What the page does for the account.
 *
 * @type {{tell: (content: string | (string | Element)[]) => void, fail: (error: unknown) => void,
 *   ended: (notice: string) => void}}
 */
let page;
/** Whose account it is: the answer of `GET /v1/me`. */
let me;
let timer = 0;

/** Runs what a button does: once at a time, and what goes wrong is told. */
function onPress(button, action) {
  button.addEventListener("click", async () => {
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    try {
      await action();
    } catch (error) {
      page.fail(error);
    } finally {
      button.removeAttribute("aria-disabled");
    }
  });
}

function copy(template) {
  return find(template).content.firstElementChild.cloneNode(true);
}

function tag([mark, colour]) {
  const element = document.createElement("li");
  element.className = `tag ${colour}`;
  element.textContent = mark;
  return element;
}

/** Buttons of the same text are told apart by what they are for. */
function name(button, what) {
  button.setAttribute("aria-label", text("button-for", { button: button.textContent, what }));
}

// Passkeys and devices

function credentialRow(credential) {
  const row = copy("credential-template");
  const part = (name) => row.querySelector(`.${name}`);
  part("row-title").textContent = credential.label;
  const [mark, colour, sentence] = assurance(credential);
  const kind = text(credential.kind === "device" ? "credentials.device" : "credentials.passkey");
  part("tags").append(tag([kind, "plain"]), tag([mark, colour]));
  part("explanation").textContent = sentence;
  if (credential.suspended) {
    part("tags").append(tag([text("credentials.suspended"), "bad"]));
    part("explanation").textContent = suspension(credential.suspension);
  }
  const { lastUsedAt, createdAt } = credential;
  const times = { added: when(createdAt), ...(lastUsedAt && { used: when(lastUsedAt) }) };
  part("used").append(...nodes(lastUsedAt ? "credentials.used" : "credentials.unused", times));
  name(part("rename"), credential.label);
  name(part("remove"), credential.label);
  name(part("restore"), credential.label);
  part("restore").hidden = credential.suspension !== "cloned_counter";
  onPress(part("restore"), async () => {
    const isSure = await confirm({
      title: nodes("restore.title", { name: credential.label }),
      explanation: text("restore.text"),
      yes: text("restore"),
    });
    if (!isSure) return;
    const restored = await withStepUp(() => call("POST", `/v1/credentials/${credential.id}/restore`));
    if (!restored) return;
    passkeys.signalAccepted(await loadCredentials());
    page.tell(nodes("credentials.restored", { name: credential.label }));
    find("credentials-title").focus();
  });
  onPress(part("rename"), async () => {
    const isSaved = await rename({
      title: nodes("rename.title", { name: credential.label }),
      name: credential.label,
      save: (label) => call("PATCH", `/v1/credentials/${credential.id}`, { label }),
    });
    if (!isSaved) return;
    await loadCredentials();
    page.tell(text("credentials.renamed"));
    document.querySelector(`[data-id="${credential.id}"] .rename`)?.focus();
  });
  onPress(part("remove"), async () => {
    const isSure = await confirm({
      title: nodes("remove.title", { name: credential.label }),
      explanation: text("remove.text"),
      yes: text("remove"),
    });
    if (!isSure) return;
    const isDone = await withStepUp(async () => {
      await call("DELETE", `/v1/credentials/${credential.id}`);
      return true;
    });
    if (!isDone) return;
    passkeys.signalAccepted(await loadCredentials());
    await loadSessions();
    page.tell(nodes("credentials.removed", { name: credential.label }));
    find("credentials-title").focus();
  });
  row.dataset.id = credential.id;
  return row;
}

async function loadCredentials() {
  const answer = await call("GET", "/v1/credentials");
  find("credential-list").replaceChildren(...answer.credentials.map(credentialRow));
  find("no-credentials").hidden = answer.credentials.length > 0;
  const usable = answer.credentials.filter(({ suspended }) => !suspended);
  find("one-passkey").hidden = usable.length !== 1 || usable[0].backupEligible;
  return answer;
}

onPress(find("add-passkey"), async () => {
  const credential = await withStepUp(passkeys.register);
  if (!credential) return;
  await loadCredentials();
  page.tell(text("credentials.added"));
  document.querySelector(`[data-id="${credential.id}"] .rename`)?.focus();
});

// Sessions

function sessionRow(session) {
  const row = copy("session-template");
  const part = (name) => row.querySelector(`.${name}`);
  const client = session.client || text("sessions.unknown");
  part("row-title").textContent = client;
  if (session.current) part("tags").append(tag([text("sessions.this"), "here"]));
  const [mark, colour, sentence] = authentication(session);
  part("tags").append(tag([mark, colour]));
  part("explanation").textContent = sentence;
  const values = { address: session.address, since: when(session.createdAt), used: when(session.lastUsedAt) };
  part("used").append(...nodes(session.current ? "sessions.here" : "sessions.other", values));
  const end = part("end");
  if (session.current) {
    end.remove();
    return row;
  }
  name(end, client);
  onPress(end, async () => {
    const isSure = await confirm({
      title: nodes("end.title", { name: client }),
      explanation: text("end.text"),
      yes: text("sign-out"),
    });
    if (!isSure) return;
    await call("DELETE", `/v1/sessions/${session.id}`);
    await loadSessions();
    page.tell(nodes("sessions.ended", { name: client }));
    find("sessions-title").focus();
  });
  return row;
}

async function loadSessions() {
  const { sessions } = await call("GET", "/v1/sessions");
  sessions.sort((one, other) => Number(other.current) - Number(one.current) || other.lastUsedAt - one.lastUsedAt);
  find("session-list").replaceChildren(...sessions.map(sessionRow));
  find("end-others").hidden = sessions.length < 2;
}

onPress(find("end-others"), async () => {
  const isSure = await confirm({
    title: [text("end-others.title")],
    explanation: text("end-others.text"),
    yes: text("sign-out"),
  });
  if (!isSure) return;
  await call("DELETE", "/v1/sessions?except=current");
  await loadSessions();
  page.tell(text("sessions.others-ended"));
  find("sessions-title").focus();
});

// Password

onPress(find("change-password"), async () => {
  if (!(await changePassword(me))) return;
  me = await call("GET", "/v1/me");
  showPassword();
  await loadSessions();
  page.tell(text("password.changed"));
  find("password-title").focus();
});

function showPassword() {
  find("change-password").textContent = text(me.hasPassword ? "change-password" : "set-password");
  find("password-text").textContent = text(me.hasPassword ? "password.text" : "password.none");
}

// Recovery codes, the account's data, its end

onPress(find("make-codes"), async () => {
  if (!(await own.makeCodes())) return;
  await own.loadCodes();
  page.tell(text("codes.made"));
  find("codes-heading").focus();
});

onPress(find("export-account"), async () => {
  await own.download();
  page.tell(text("data.downloaded"));
});

onPress(find("end-account"), async () => {
  if (await own.deleteAccount(me)) page.ended(text("delete.done"));
});

// Transactions

function transactionCard(transaction) {
  const card = copy("transaction-template");
  const part = (name) => card.querySelector(`.${name}`);
  const error = part("transaction-error");
  card.dataset.id = transaction.id;
  part("transaction-type").textContent = title(transaction.type);
  showTimes(card, transaction);
  part("details").append(shown(transaction.details));
  part("canonical").textContent = signedText(transaction.details);
  const label = title(transaction.type);
  name(part("approve"), label);
  name(part("reject"), label);
  const decide = (action, key) => async () => {
    error.textContent = "";
    try {
      await action();
    } catch (failure) {
      if (failure.code === "invalid_token") throw failure;
      error.textContent =
        failure.name === "DataError"
          ? text("transactions.altered")
          : explain(failure, "transaction");
      return;
    }
    await loadTransactions();
    await loadCredentials();
    page.tell(nodes(key, { what: label }));
    const heading = find("transactions").hidden ? "account-title" : "transactions-title";
    find(heading).focus();
  };
  onPress(part("approve"), decide(() => approve(transaction), "transactions.approved"));
  onPress(
    part("reject"),
    decide(() => call("POST", `/v1/transactions/${transaction.id}/rejection`), "transactions.rejected"),
  );
  return card;
}

function showTimes(card, { createdAt, expiresAt }) {
  const times = { asked: when(createdAt), left: duration(expiresAt - Date.now() / 1000) };
  card.querySelector(".times").replaceChildren(...nodes("transactions.times", times));
}

/** Shows what waits; what is there already stays, so that nobody loses the place. */
async function loadTransactions(options) {
  const { transactions } = await call("GET", "/v1/transactions", undefined, options);
  const list = find("transaction-list");
  const waiting = new Map(transactions.map((one) => [one.id, one]));
  for (const card of [...list.children]) {
    const transaction = waiting.get(card.dataset.id);
    if (transaction) showTimes(card, transaction);
    else card.remove();
  }
  const there = new Set([...list.children].map((card) => card.dataset.id));
  const isNew = transactions.filter(({ id }) => !there.has(id));
  list.append(...isNew.map(transactionCard));
  find("transactions").hidden = transactions.length === 0;
  return isNew.length;
}

/** Looks for new ones while somebody looks at the page; a session that nobody uses is not prolonged by that. */
async function watch(options = { renews: false }) {
  if (document.hidden) return;
  try {
    if (await loadTransactions(options)) page.tell(text("transactions.new"));
  } catch (error) {
    // Until somebody is here again.
    clearInterval(timer);
    timer = 0;
    if (options.renews) page.fail(error);
  }
}

for (const event of ["focus", "pointerdown", "keydown"]) {
  addEventListener(event, () => {
    if (!me || timer) return;
    timer = setInterval(watch, interval);
    watch({ renews: true });
  });
}

/** The transaction that a link leads to: `#transaction=…`. */
async function showLinked() {
  const id = /^#transaction=([\w-]{1,128})$/.exec(location.hash)?.[1];
  if (!id) return false;
  history.replaceState(null, "", location.pathname);
  const card = find("transaction-list").querySelector(`[data-id="${id}"] .transaction-type`);
  if (card) {
    card.focus();
    return true;
  }
  try {
    const state = `transaction-state.${(await call("GET", `/v1/transactions/${id}`)).status}`;
    page.tell(has(state) ? text(state) : "");
  } catch (error) {
    if (error.code !== "not_found") throw error;
    page.fail(new Error("no such transaction"), text("transactions.none"));
  }
  return false;
}

/**
 * Shows the account of whoever is signed in.
 *
 * @param {typeof me} account
 * @param {typeof page} owner
 */
export async function begin(account, owner) {
  page = owner;
  me = account;
  showPassword();
  find("transaction-list").replaceChildren();
  find("add-passkey").hidden = !passkeys.canUsePasskeys;
  await Promise.all([loadTransactions(), loadCredentials(), loadSessions(), own.loadCodes()]);
  clearInterval(timer);
  timer = setInterval(watch, interval);
}

/** What comes first, once the account is shown. */
export async function focusFirst() {
  if (!(await showLinked())) find("account-title").focus();
}

/** Forgets the account. */
export function end() {
  clearInterval(timer);
  timer = 0;
  me = undefined;
  for (const list of ["transaction-list", "credential-list", "session-list"]) find(list).replaceChildren();
}
