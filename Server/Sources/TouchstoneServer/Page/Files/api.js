// The server's API, called with the session that the browser keeps in cookies. No token ever is in a script.

/** What the server did not do, with its code (`application/problem+json`, RFC 9457). */
export class Problem extends Error {
  /**
   * @param {string} code the server's, or `unreachable`
   * @param {{status?: number, detail?: string, errors?: {detail: string}[], retryAfter?: number,
   *   traceId?: string, rule?: string, limit?: number}} [body]
   */
  constructor(code, body = {}) {
    super(code);
    this.code = code;
    this.status = body.status ?? 0;
    this.detail = body.detail;
    this.errors = body.errors;
    this.retryAfter = body.retryAfter;
    this.traceId = body.traceId;
    // Which rule a new password breaks, and the number of characters in that rule.
    this.rule = body.rule;
    this.limit = body.limit;
  }
}

/** @returns {Promise<Response>} */
async function send(method, path, init) {
  try {
    return await fetch(path, { method, credentials: "same-origin", cache: "no-store", redirect: "error", ...init });
  } catch {
    throw new Problem("unreachable");
  }
}

async function problem(response) {
  let body = {};
  try {
    body = await response.json();
  } catch {
    // A proxy's page: there is no code in it.
  }
  return new Problem(body.code ?? body.error ?? "unreachable", { status: response.status, ...body });
}

/** @type {Promise<boolean> | null} */
let renewal = null;

/** Gets new cookies for those that are over; of many calls that want it at a time, one asks. */
function renew() {
  renewal ??= (async () => {
    try {
      const body = new URLSearchParams({ grant_type: "refresh_token" });
      const response = await send("POST", "/v1/token", { body });
      if (response.ok) return true;
      if (response.status === 503 || response.status === 500) throw await problem(response);
      return false;
    } finally {
      renewal = null;
    }
  })();
  return renewal;
}

/**
 * Calls an operation.
 *
 * @param {string} method
 * @param {string} path
 * @param {object} [body] sent as JSON
 * @param {{renews?: boolean}} [options] `renews: false`: does not prolong the session, which is for people to do
 * @returns {Promise<any>} the answer's JSON; null for none
 * @throws {Problem} `invalid_token` when the session is over
 */
export async function call(method, path, body, { renews = true } = {}) {
  const init = body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response = await send(method, path, init);
  if (response.status === 401 && renews) {
    const first = await problem(response.clone());
    if (first.code === "invalid_token" && (await renew())) response = await send(method, path, init);
  }
  if (!response.ok) throw await problem(response);
  return response.status === 204 ? null : await response.json();
}
