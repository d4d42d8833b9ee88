// Sends deliveries as Standard Webhooks 1.0.0 requires and reports each outcome. It decides nothing: the domain decides
// when a delivery is tried again and when an endpoint is disabled.

import { base64, fromBase64 } from "../../contract/text/base64.ts";
import { retryAfterMs } from "../../contract/text/retry-after.ts";
import type { AttemptOutcome } from "../../domain/webhook.ts";
import type { Outgoing } from "../turn/announcement.ts";

const TIMEOUT_MS = 15_000;
const MS_A_SECOND = 1_000;

interface SenderTools {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly now: () => number;
  readonly settle: (id: string, outcome: AttemptOutcome) => Promise<void>;
}

export const sendDelivery = async (tools: SenderTools, outgoing: Outgoing): Promise<void> => {
  const outcome = await attempt(tools, outgoing);
  await tools.settle(outgoing.id, outcome);
};

const attempt = async (
  { fetch, now }: SenderTools,
  { id, url, secrets, traceparent, body }: Outgoing,
): Promise<AttemptOutcome> => {
  const timestamp = Math.floor(now() / MS_A_SECOND);
  const signatures = await Promise.all(secrets.map((secret) => sign(secret, `${id}.${timestamp}.${body}`)));
  try {
    const answer = await fetch(url, {
      method: "POST",
      redirect: "manual",
      headers: {
        "content-type": "application/json",
        "user-agent": "Signalbox-Webhooks/1.0",
        ...(traceparent === null ? {} : { traceparent }),
        "webhook-id": id,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": signatures.join(" "),
      },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await answer.body?.cancel();
    const isOk = answer.status >= 200 && answer.status < 300;
    return {
      status: answer.status,
      retryAfterMs: retryAfterMs(answer.headers.get("retry-after"), now()),
      error: isOk ? null : `the endpoint answered ${answer.status}`,
    };
  } catch (error) {
    const isLate = (error as Error).name === "TimeoutError";
    const said = isLate ? `no answer within ${TIMEOUT_MS / MS_A_SECOND} s` : "the endpoint cannot be reached";
    return { status: null, retryAfterMs: null, error: said };
  }
};

/** `v1,<base64 of HMAC-SHA256>`; the secret is base64. */
const sign = async (secret: string, text: string): Promise<string> => {
  const key = await crypto.subtle.importKey("raw", fromBase64(secret), { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text)));
  return `v1,${base64(mac)}`;
};
