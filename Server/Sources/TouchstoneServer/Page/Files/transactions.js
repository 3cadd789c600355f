// What somebody approves. The challenge that is signed is made of what is shown (server: TransactionChallenge.swift).

import { call } from "./api.js";
import { text } from "./language.js";
import { assertion } from "./passkeys.js";

const encoder = new TextEncoder();

/** JSON Canonicalization Scheme (RFC 8785). The server takes no fractions, so that numbers need no rule of their own. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  // Names are compared by their UTF-16, which is what `sort` does.
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

function base64URL(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function bytes(encoded) {
  return Uint8Array.from(atob(encoded.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
}

async function sha256(...parts) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer()));
}

/** `SHA-256(label ‖ 0x00 ‖ nonce ‖ SHA-256(JCS(details)))` in base64url. */
async function challenge({ details, nonce }) {
  const digest = await sha256(encoder.encode(canonical(details)));
  return base64URL(await sha256(encoder.encode("touchstone transaction 1\0"), bytes(nonce), digest));
}

/** Signs a transaction, if what would be signed is what is shown. */
export async function approve(transaction) {
  if (transaction.publicKey.challenge !== (await challenge(transaction))) {
    throw new DOMException("what would be signed is not what is shown", "DataError");
  }
  const credential = await assertion(transaction.publicKey);
  return await call("POST", `/v1/transactions/${transaction.id}/approval`, { credential });
}

/** A name in code as a person writes it: `accountHolder` is "Account holder". */
export function title(name) {
  const words = visible(name).replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

/** Characters that are not seen, or that change the order in which others are seen, as their numbers. */
function visible(value) {
  return value.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (one) => `[U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`,
  );
}

/** What is signed, with the same characters escaped as JSON escapes them: it means the same. */
export function signedText(details) {
  return canonical(details).replaceAll(/[\p{Cf}\p{Zl}\p{Zp}]/gu, (one) =>
    Array.from({ length: one.length }, (_, index) => `\\u${one.charCodeAt(index).toString(16).padStart(4, "0")}`).join(""),
  );
}

/** The details of a transaction as a list of names and values, whatever their depth. */
export function shown(value) {
  if (value !== null && typeof value === "object") {
    const isArray = Array.isArray(value);
    const list = document.createElement(isArray ? "ol" : "dl");
    for (const [name, member] of Object.entries(value)) {
      if (isArray) {
        const item = document.createElement("li");
        item.append(shown(member));
        list.append(item);
      } else {
        const term = document.createElement("dt");
        const description = document.createElement("dd");
        term.textContent = title(name);
        description.append(shown(member));
        list.append(term, description);
      }
    }
    return list;
  }
  const element = document.createElement("bdi");
  if (value === null) element.textContent = text("value.none");
  else if (typeof value === "boolean") element.textContent = text(value ? "value.yes" : "value.no");
  else element.textContent = visible(String(value));
  return element;
}
