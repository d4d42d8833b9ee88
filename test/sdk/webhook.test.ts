// verifyWebhook() compared with the standard's own package.

import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { verifyWebhook, WebhookRefused } from "../../sdk/verify-webhook.ts";

const SECRET = `whsec_${Buffer.from("a secret of thirty-two bytes or so").toString("base64")}`;
const OTHER = `whsec_${Buffer.from("another secret of thirty-two bytes").toString("base64")}`;
const BODY = JSON.stringify({ type: "job.completed", timestamp: "2026-11-21T00:00:00.000Z", data: { id: "jöb" } });

const signed = (secret: string, body = BODY, at = new Date()) => ({
  "webhook-id": "evt_1",
  "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
  "webhook-signature": new Webhook(secret).sign("evt_1", at, body),
});

describe("a webhook", () => {
  it("that the standard's package signed is verified, as text or bytes, whatever holds its headers", async () => {
    const event = { type: "job.completed", data: { id: "jöb" } };
    expect(await verifyWebhook(BODY, signed(SECRET), SECRET)).toMatchObject(event);
    expect(await verifyWebhook(new TextEncoder().encode(BODY), new Headers(signed(SECRET)), SECRET)).toMatchObject(
      event,
    );
    const capitals = Object.fromEntries(
      Object.entries(signed(SECRET)).map(([name, value]) => [name.toUpperCase(), value]),
    );
    expect(await verifyWebhook(BODY, capitals, SECRET)).toMatchObject(event);
  });

  it("signed by two secrets is verified with either, and either of two secrets will do", async () => {
    const one = signed(SECRET);
    const both = { ...one, "webhook-signature": `${signed(OTHER)["webhook-signature"]} ${one["webhook-signature"]}` };
    expect(await verifyWebhook(BODY, both, SECRET)).toMatchObject({ type: "job.completed" });
    expect(await verifyWebhook(BODY, one, [OTHER, SECRET])).toMatchObject({ type: "job.completed" });
  });

  const hour = 3_600_000;
  it.each([
    ["another secret", BODY, signed(OTHER)],
    ["a changed body", BODY.replace("completed", "failed"), signed(SECRET)],
    ["another id", BODY, { ...signed(SECRET), "webhook-id": "evt_2" }],
    ["an old timestamp", BODY, signed(SECRET, BODY, new Date(Date.now() - hour))],
    ["a timestamp of the future", BODY, signed(SECRET, BODY, new Date(Date.now() + hour))],
    ["no signature", BODY, { ...signed(SECRET), "webhook-signature": "" }],
    ["a signature of another version", BODY, { ...signed(SECRET), "webhook-signature": "v1a,AAAA" }],
    ["a signature that is no base64", BODY, { ...signed(SECRET), "webhook-signature": "v1,*" }],
  ])("with %s is refused", async (_what, body, headers) => {
    await expect(verifyWebhook(body, headers, SECRET)).rejects.toThrow(WebhookRefused);
  });
});
