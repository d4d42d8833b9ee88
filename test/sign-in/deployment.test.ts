// The operator's config of signing in, for tenants without their own, and the address that people reach.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readSignIn } from "../../self-host/settings/edge-environment.ts";
import { send } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";

const TEXT = `oidc: { issuer: "https://id.example.com", client_id: signalbox, client_secret: hidden-value, name: Acme }
roles:
  - { claim: groups, has: ml-admins, role: admin }
keys_sign_in: false
`;

describe("SERVICE_SIGN_IN", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "signalbox-sign-in-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("is YAML, or the path of a file with it", async () => {
    const file = path.join(folder, "sign-in.yaml");
    writeFileSync(file, TEXT);
    expect(await readSignIn({ SERVICE_SIGN_IN: file })).toEqual({ SERVICE_SIGN_IN: TEXT });
    expect(await readSignIn({ SERVICE_SIGN_IN: TEXT })).toEqual({ SERVICE_SIGN_IN: TEXT });
    expect(await readSignIn({})).toEqual({});
  });

  it("ends the start if it cannot be read, or is invalid", async () => {
    await expect(readSignIn({ SERVICE_SIGN_IN: path.join(folder, "none.yaml") })).rejects.toThrow(/cannot be read/);
    await expect(readSignIn({ SERVICE_SIGN_IN: "roles: []\nkeys_sign_in: false\n" })).rejects.toThrow(
      /nobody could sign in/,
    );
    await expect(readSignIn({ SERVICE_SIGN_IN: "roles: []\nrole: []\n" })).rejects.toThrow(
      /SERVICE_SIGN_IN is invalid/,
    );
  });

  it("that is no YAML is named with the place, and not repeated: it has a secret", async () => {
    await expect(readSignIn({ SERVICE_SIGN_IN: "oidc: { client_secret: hidden-value" })).rejects.toThrow(
      /^SERVICE_SIGN_IN is no valid YAML: line 1, column \d+$/,
    );
    await expect(readSignIn({ SERVICE_SIGN_IN: "roles: &a []\noidc: *a\n" })).rejects.toThrow(/^SERVICE_SIGN_IN is no/);
  });
});

describe("a deployment's sign-in", () => {
  const data = folderForAllTests();
  let server: SelfHosted;
  beforeAll(async () => {
    const env = { SERVICE_SIGN_IN: TEXT, SERVICE_PUBLIC_URL: "https://jobs.acme.com/", SERVICE_CATALOG_SYNC: "0" };
    server = await startSelfHosted(data.path, { env });
  }, 90_000);
  afterAll(() => server?.kill());

  const at = () => ({ url: server.url, key: server.adminKey });

  it("holds for a tenant without its own, until that has one", async () => {
    const { body } = await send(at(), "GET", "/api/sign-in");
    expect(body).toMatchObject({ from: "deployment", redirect_uri: "https://jobs.acme.com/auth/callback" });
    expect(JSON.stringify(body)).not.toContain("hidden-value");
    const session = () => send(at(), "POST", "/session", { key: server.adminKey });
    expect((await session()).status).toBe(403);
    await send(at(), "PUT", "/api/sign-in", { roles: [] });
    expect((await send(at(), "GET", "/api/sign-in")).body).toMatchObject({ from: "tenant", oidc: null });
    expect((await session()).status).toBe(200);
  });

  it("reaches no private address unless the operator allows that", async () => {
    const oidc = { issuer: "http://127.0.0.1:9", client_id: "x", name: "x" };
    expect((await send(at(), "PUT", "/api/sign-in", { oidc, roles: [] })).status).toBe(400);
  });
});
