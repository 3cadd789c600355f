// What the server's codes and numbers mean, in words.

const dates = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const times = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/**
 * A point in time as people say it.
 *
 * @param {number} seconds since 1970
 * @returns {HTMLTimeElement}
 */
export function when(seconds) {
  const element = document.createElement("time");
  const date = new Date(seconds * 1000);
  element.dateTime = date.toISOString();
  const ago = Date.now() / 1000 - seconds;
  if (Math.abs(ago) < 60) element.textContent = "just now";
  else if (Math.abs(ago) < 3600) element.textContent = relative.format(-Math.round(ago / 60), "minute");
  else if (Math.abs(ago) < 86_400) element.textContent = relative.format(-Math.round(ago / 3600), "hour");
  else if (Math.abs(ago) < 7 * 86_400) element.textContent = relative.format(-Math.round(ago / 86_400), "day");
  else element.textContent = `on ${dates.format(date)}`;
  element.title = times.format(date);
  return element;
}

/** How long that is. */
export function duration(seconds) {
  const number = Math.max(1, Math.ceil(seconds));
  if (number < 120) return `${number} ${number === 1 ? "second" : "seconds"}`;
  if (number < 7200) return `${Math.ceil(number / 60)} minutes`;
  return `${Math.ceil(number / 3600)} hours`;
}

/** What this browser calls itself in the list of sessions. */
export function clientName() {
  const agent = navigator.userAgent;
  const browser =
    [
      [/Edg\//, "Edge"],
      [/OPR\//, "Opera"],
      [/Firefox\//, "Firefox"],
      [/Chrom(e|ium)\//, "Chrome"],
      [/Safari\//, "Safari"],
    ].find(([pattern]) => pattern.test(agent))?.[1] ?? "Browser";
  const system = [
    [/Android/, "Android"],
    [/iPhone|iPad/, "iOS"],
    [/Windows/, "Windows"],
    [/Mac OS X/, "macOS"],
    [/CrOS/, "ChromeOS"],
    [/Linux/, "Linux"],
  ].find(([pattern]) => pattern.test(agent))?.[1];
  return system ? `${browser} on ${system}` : browser;
}

/** What shows that a credential is what it says: a short mark with its colour, and a sentence. */
export function assurance({ assurance, kind, backupEligible, uvEvidence }) {
  const asks = uvEvidence === "tpm_policy" ? " The chip itself asks for you each time." : "";
  switch (assurance) {
    case "tpm":
      return ["Proven hardware", "good", `The key is in a computer's security chip and cannot leave it.${asks}`];
    case "basic":
      return ["Proven by its maker", "good", "Its maker vouches for where the key is kept."];
    default:
      if (backupEligible)
        return ["Synced", "plain", "Your password manager or account copies it to your other devices."];
      if (kind === "device") return ["Not proven", "plain", "On one device. Nothing shows how it keeps the key."];
      return ["On one device", "plain", "Kept on one device or security key, which nobody vouches for."];
  }
}

/** By what somebody signed in: a short mark with its colour, and a sentence. */
export function authentication({ acr, amr, bound }) {
  const by = amr.includes("fpt")
    ? " and a finger"
    : amr.includes("face")
      ? " and a face"
      : amr.includes("pin")
        ? " and a passcode"
        : "";
  const tied = bound ? " It works on that device only." : "";
  switch (acr) {
    case "0":
      return ["Not signed in yet", "plain", "Opened by a link or a recovery code, to set up how to sign in."];
    case "phrh":
      return ["Proven hardware", "good", `Signed in with a key in a security chip${by}.${tied}`];
    case "phr":
      return ["Passkey", "good", `Signed in with a passkey${by}.${tied}`];
    default:
      return ["Password", "plain", `Signed in with the password alone.${tied}`];
  }
}

const suspensions = {
  cloned_counter: "Suspended: it seems that somebody has a copy of it. Remove it and add a new one, or restore it if you are sure.",
  invalidated: "Suspended: its device reported that the enrolled fingers or the passcode changed. You can remove it.",
  deleted: "Suspended: its device reported that it deleted the key. You can remove it.",
  superseded: "Suspended: the same device has a newer key. You can remove this one.",
};

/** Why a credential signs nobody in. */
export function suspension(reason) {
  return suspensions[reason] ?? "Suspended by the administrator. It does not sign you in.";
}

const problems = {
  unreachable: "The server cannot be reached. Check your connection, and try again.",
  account_locked_by_admin: "This account is locked. Ask the administrator to open it.",
  credential_suspended: "This passkey is suspended. Sign in with your password or another passkey.",
  credential_exists: "This passkey is registered already.",
  ceremony_expired: "That took too long. Try again.",
  username_taken: "This user name is taken. Choose another one.",
  link_invalid: "This link was used, replaced or withdrawn, or is too old. Ask the administrator for another one.",
  session_limited: "First set up how you sign in.",
  invalid_token: "You have been signed out. Sign in again.",
  transaction_not_pending: "It was decided already, or it is too late for it.",
  not_found: "It is not there any more. Reload the page.",
  attestation_rejected: "This passkey cannot be used here. Try another device or security key.",
  attestation_untrusted: "Only passkeys from makers that this service knows can be used here.",
  key_policy_rejected: "This device does not protect its key as this service demands.",
  insufficient_assurance: "Signing in this way is not enough here. Use your passkey or device.",
};

const refusals = {
  NotAllowedError: "It was cancelled, or took too long. Try again when you are ready.",
  InvalidStateError: "This device has a passkey for your account already.",
  SecurityError: "Passkeys do not work at this address. Open the page at the address that you were given.",
  NotSupportedError: "This device cannot make a passkey that works here.",
};

/**
 * What went wrong and what to do.
 *
 * @param {unknown} error
 * @param {"password" | "passkey" | "transaction"} [occasion]
 */
export function explain(error, occasion) {
  if (error instanceof DOMException) return refusals[error.name] ?? `The browser did not do it: ${error.message}`;
  switch (error?.code) {
    case "authentication_failed":
      if (occasion === "transaction")
        return "The signature was not accepted, and nothing was approved. Ask for the request to be sent again.";
      return occasion === "password"
        ? "User name and password do not go together. Check both, and try again."
        : "This passkey is not known here. It may have been removed. Sign in with your password or another passkey.";
    case "weak_password":
      return `Choose another password: ${error.detail ?? "this one is too easy to guess"}.`;
    case "too_many_attempts":
      return `Too many attempts. Wait ${duration(error.retryAfter ?? 60)}, and try again.`;
    case "invalid_request":
      if (error.errors?.[0]) return `Check what you entered: ${error.errors[0].detail}.`;
      break;
    case "overloaded":
      return `The server is busy. Try again in ${duration(error.retryAfter ?? 5)}.`;
    case "forbidden":
      return `That is not allowed${error.detail ? `: ${error.detail}` : ""}.`;
  }
  const text = problems[error?.code];
  if (text) return text;
  const reference = error?.traceId ? ` Reference: ${error.traceId}` : "";
  return `Something went wrong. Try again, and tell the administrator if it stays so.${reference}`;
}
