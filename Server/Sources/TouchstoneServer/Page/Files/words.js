// What the server's codes and numbers mean, in words.

import { has, language, sentences, text } from "./language.js";

const dates = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
const times = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });

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
  if (Math.abs(ago) < 60) element.textContent = text("time.now");
  else if (Math.abs(ago) < 3600) element.textContent = relative.format(-Math.round(ago / 60), "minute");
  else if (Math.abs(ago) < 86_400) element.textContent = relative.format(-Math.round(ago / 3600), "hour");
  else if (Math.abs(ago) < 7 * 86_400) element.textContent = relative.format(-Math.round(ago / 86_400), "day");
  else element.textContent = text("time.date", { date: dates.format(date) });
  element.title = times.format(date);
  return element;
}

/** How long that is. */
export function duration(seconds) {
  const number = Math.max(1, Math.ceil(seconds));
  const [count, unit] =
    number < 120
      ? [number, "second"]
      : number < 7200
        ? [Math.ceil(number / 60), "minute"]
        : [Math.ceil(number / 3600), "hour"];
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(count);
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
    ].find(([pattern]) => pattern.test(agent))?.[1] ?? text("client.unknown");
  const system = [
    [/Android/, "Android"],
    [/iPhone|iPad/, "iOS"],
    [/Windows/, "Windows"],
    [/Mac OS X/, "macOS"],
    [/CrOS/, "ChromeOS"],
    [/Linux/, "Linux"],
  ].find(([pattern]) => pattern.test(agent))?.[1];
  return system ? text("client", { browser, system }) : browser;
}

/** What shows that a credential is what it says: a short mark with its colour, and a sentence. */
export function assurance({ assurance, kind, backupEligible, uvEvidence }) {
  switch (assurance) {
    case "tpm": {
      const asks = uvEvidence === "tpm_policy" && text("assurance.tpm.asks");
      return [text("assurance.tpm"), "good", sentences(text("assurance.tpm.text"), asks)];
    }
    case "basic":
      return [text("assurance.basic"), "good", text("assurance.basic.text")];
    default:
      if (backupEligible) return [text("assurance.synced"), "plain", text("assurance.synced.text")];
      if (kind === "device") return [text("assurance.unproven"), "plain", text("assurance.unproven.text")];
      return [text("assurance.one-device"), "plain", text("assurance.one-device.text")];
  }
}

/** By what somebody signed in: a short mark with its colour, and a sentence. */
export function authentication({ acr, amr, bound }) {
  const by = ["fpt", "face", "pin"].find((one) => amr.includes(one)) ?? "text";
  const tied = bound && text("authentication.bound");
  switch (acr) {
    case "0":
      return [text("authentication.none"), "plain", text("authentication.none.text")];
    case "phrh":
      return [text("authentication.hardware"), "good", sentences(text(`authentication.hardware.${by}`), tied)];
    case "phr":
      return [text("authentication.passkey"), "good", sentences(text(`authentication.passkey.${by}`), tied)];
    default:
      return [text("authentication.password"), "plain", sentences(text("authentication.password.text"), tied)];
  }
}

/** Why a credential signs nobody in. */
export function suspension(reason) {
  return text(has(`suspension.${reason}`) ? `suspension.${reason}` : "suspension.other");
}

/**
 * What went wrong and what to do.
 *
 * @param {unknown} error
 * @param {"password" | "passkey" | "transaction"} [occasion]
 */
export function explain(error, occasion) {
  if (error instanceof DOMException) {
    const known = `browser.${error.name}`;
    return has(known) ? text(known) : text("browser.other", { message: error.message });
  }
  switch (error?.code) {
    case "authentication_failed":
      return text(`refused.${occasion ?? "passkey"}`);
    case "weak_password":
      if (has(`rule.${error.rule}`)) return text(`rule.${error.rule}`, { count: error.limit });
      break;
    case "too_many_attempts":
      return text("error.wait", { time: duration(error.retryAfter ?? 60) });
    case "invalid_request":
      if (error.errors?.[0]) return text("error.input", { detail: error.errors[0].detail });
      break;
    case "overloaded":
      return text("error.busy", { time: duration(error.retryAfter ?? 5) });
    case "forbidden":
      if (error.detail) return text("error.forbidden", { detail: error.detail });
      break;
  }
  if (has(`problem.${error?.code}`)) return text(`problem.${error.code}`);
  const reference = error?.traceId && text("error.reference", { reference: error.traceId });
  return sentences(text("error.unknown"), reference);
}
