// Whose turn a request takes: that of a session whose tag was checked, whatever other cookies its browser has.

import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { turnOwnerOf } from "../../../self-host/edge/turns/turn-owner.ts";
import { type AppContext, sessionCookies, sessionOf } from "../../../src/http/auth.ts";
import { mint } from "../../../src/http/key-format.ts";

const SECRET = "signing-secret-of-this-test";
const STRANGER = { name: "an address", isKey: false };

const contextOf = (url: string, cookie = ""): AppContext =>
  ({
    env: { SERVICE_SIGNING_SECRET: SECRET },
    req: { url, header: () => undefined, raw: { headers: new Headers({ cookie }) } },
  }) as unknown as AppContext;

const ownerOf = (cookie: string, beside = {}) =>
  turnOwnerOf({ headers: { cookie, ...beside }, url: "/api/jobs" } as unknown as IncomingMessage, () => STRANGER.name);

it.each(["http://127.0.0.1:8787/", "http://signalbox.example/", "https://signalbox.example:8443/"])(
  "a session of %s takes its own turn, beside one of another service of its host",
  async (url) => {
    const { token } = await mint(SECRET, "session", "acme", null);
    const other = await mint("another secret", "session", "acme", null);
    const [bound, plain] = sessionCookies(contextOf(url));
    const cookie = `${url.startsWith("https") ? bound : plain}=${token}`;
    expect(ownerOf(cookie)).toEqual(STRANGER);
    expect(await sessionOf(contextOf(url, cookie))).toMatchObject({ kind: "session", tenant: "acme" });
    expect(ownerOf(`signalbox-1=${other.token}; theme=dark; ${cookie}`)).toEqual({ name: token, isKey: true });
    expect(ownerOf(cookie, { authorization: "Basic bWU6c2VjcmV0" })).toEqual({ name: token, isKey: true });
    expect(ownerOf(`signalbox-1=${other.token}`)).toEqual(STRANGER);
    // The app refuses it, whatever else the request bears.
    expect(ownerOf(cookie, { authorization: "Token abc" })).toEqual(STRANGER);
  },
);
