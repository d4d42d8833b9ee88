// A self-hosted server with a real identity provider, for all tests of a file, and what they do with both.

import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { type Body, send } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";
import { type Account, CLIENT, type IdentityProvider, openIdentityProvider } from "./identity-provider.ts";
import { type Step, Traveller } from "./traveller.ts";

export const ADA: Account = {
  sub: "ada",
  name: "Ada Lovelace",
  email: "ada@acme.com",
  email_verified: true,
  groups: ["ml-admins"],
};
export const GRACE: Account = {
  sub: "grace",
  name: "Grace",
  email: "grace@acme.com",
  email_verified: true,
  groups: [],
};

export const ROLES = [
  { claim: "groups", has: "ml-admins", role: "admin" },
  { claim: "realm_access.roles", has: "operator", role: "standard" },
  { claim: "email", matches: "*@acme.com", role: "viewer" },
];

export const START = "/auth/default/start";

/** To be called once in a file, at its top. */
export const signInService = () => {
  const data = folderForAllTests();
  let server: SelfHosted;
  let idp: IdentityProvider;

  const config = (more: object = {}): object => ({
    oidc: { issuer: idp.issuer, ...CLIENT, name: "Acme", scopes: ["openid", "email", "profile", "groups"] },
    roles: ROLES,
    ...more,
  });

  const admin = async (method: string, route: string, body?: unknown): Promise<{ status: number; body: Body }> =>
    send({ url: server.url, key: server.adminKey }, method, route, body);

  beforeAll(async () => {
    const env = { SERVICE_SIGN_IN_PRIVATE: "1", SERVICE_CATALOG_SYNC: "0" };
    server = await startSelfHosted(data.path, { env });
    idp = await openIdentityProvider(`${server.url}/auth/callback`, ADA);
  }, 90_000);

  afterAll(async () => {
    await server?.kill();
    await idp?.close();
  });

  beforeEach(async () => {
    idp.next = ADA;
    idp.isDown = false;
    expect((await admin("PUT", "/api/sign-in", config())).status).toBe(200);
  });

  const isDashboard = (url: string): boolean => url.startsWith(`${server.url}/`) && !url.includes("/auth/");
  const isCallback = (url: string): boolean => url.startsWith(`${server.url}/auth/callback`);

  const signIn = async (account: Account, place = START): Promise<{ browser: Traveller; end: Step }> => {
    idp.next = account;
    const browser = new Traveller();
    return { browser, end: await browser.walk(server.url + place, isDashboard) };
  };

  const ask = async (
    browser: Traveller,
    method: string,
    route: string,
    body?: unknown,
  ): Promise<{ status: number; body: Body }> => {
    const headers = { "content-type": "application/json", origin: server.url };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const step = await browser.step(server.url + route, { method, headers, ...sent });
    return { status: step.status, body: step.text === "" ? null : JSON.parse(step.text) };
  };

  const personOf = async (sub: string): Promise<Body> => {
    const { people } = (await admin("GET", "/api/people")).body;
    return people.find(({ email }: Body) => email === `${sub}@acme.com`);
  };

  const lastAttempt = async (): Promise<Body> => (await admin("GET", "/api/sign-in/attempts")).body.attempts[0];

  return {
    get server() {
      return server;
    },
    get idp() {
      return idp;
    },
    data,
    config,
    admin,
    isDashboard,
    isCallback,
    signIn,
    ask,
    personOf,
    lastAttempt,
  };
};
