// WebAuthn ceremonies, in the JSON forms of Level 3.

import { call } from "./api.js";
import { text } from "./language.js";
import { clientName } from "./words.js";

/** Whether this browser can do them. */
export const canUsePasskeys =
  "PublicKeyCredential" in globalThis && "parseRequestOptionsFromJSON" in PublicKeyCredential;

/** @type {AbortController | null} */
let running = null;

/** Ends a ceremony that waits, such as the one behind the field for the user name. */
export function abort() {
  running?.abort();
  running = null;
}

/** Asks the browser for an assertion. A browser does one ceremony at a time, so that a former one ends. */
export async function assertion(publicKey, mediation) {
  abort();
  const controller = new AbortController();
  running = controller;
  try {
    const credential = await navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey),
      signal: controller.signal,
      mediation,
    });
    return credential.toJSON();
  } finally {
    if (running === controller) running = null;
  }
}

/**
 * Signs in, or shows again who it is.
 *
 * @param {{purpose?: "login" | "reauth", mediation?: "conditional"}} [options]
 */
export async function signIn({ purpose = "login", mediation } = {}) {
  const { ceremonyId, publicKey } = await call("POST", "/v1/login/options", { purpose });
  const credential = await assertion(publicKey, mediation);
  await call("POST", "/v1/login", { ceremonyId, credential, client: clientName(), session: "cookie" });
}

/** Makes a passkey and registers it. */
export async function register() {
  const { ceremonyId, publicKey } = await call("POST", "/v1/credentials/options", { kind: "passkey" });
  abort();
  const credential = await navigator.credentials.create({
    publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey),
  });
  const label = text("credentials.label", { client: clientName() });
  return await call("POST", "/v1/credentials", { ceremonyId, credential: credential.toJSON(), label });
}

/** Tells the browser which passkeys are left, so that it offers no other. */
export async function signalAccepted({ rpId, userId, credentials }) {
  try {
    await PublicKeyCredential.signalAllAcceptedCredentials?.({
      rpId,
      userId,
      allAcceptedCredentialIds: credentials.filter((one) => !one.suspended).map((one) => one.id),
    });
  } catch {
    // A help to the browser, which may not want it.
  }
}
