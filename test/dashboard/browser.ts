// A real Chromium on the real self-hosted server. Every page records what must not happen: console errors, uncaught
// exceptions, and requests to other origins. Without Chromium the tests are skipped, except in CI.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished } from "vitest";
import { CHROMIUM } from "../support/chromium.ts";
import { SIGNALBOX } from "../support/command-line.ts";
import { eventually } from "../support/eventually.ts";
import { PATIENCE } from "../support/patience.ts";
import { succeed } from "../support/requests.ts";
import { startSelfHosted } from "../support/self-hosted.ts";
import { type Tenant, tenantForTests } from "../support/shared-server.ts";

/** A name of this machine that is not a loopback one: by http it is no secure context. */
export const NETWORK_NAME = "signalbox.example";
const FLAGS = [
  `--host-resolver-rules=MAP ${NETWORK_NAME} 127.0.0.1`,
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** True if these tests are to be skipped: there is no Chromium, and this is not CI. */
export const lacksBrowser = (): boolean => {
  if (existsSync(CHROMIUM)) return false;
  if (process.env.CI === "true")
    throw new Error(`CI needs Chromium at ${CHROMIUM}: apt-get install chromium-headless-shell`);
  console.warn(`Skipped: no Chromium at ${CHROMIUM}. Install it, or name it in CHROMIUM_PATH.`);
  return true;
};

interface Watched {
  readonly page: Page;
  /** Faults so far: console errors, exceptions, requests to other origins. */
  readonly faults: () => string[];
}

export interface World {
  readonly server: Tenant;
  /** Calls the API with the admin key. */
  readonly call: <Answer>(method: string, path: string, body?: unknown) => Promise<Answer>;
  /** A page of a browser that knows nobody; it closes with its test, because a live page keeps its machine busy. */
  readonly visit: (address: string, options?: BrowserContextOptions) => Promise<Watched>;
  /** A signed-in page. */
  readonly open: (place: string, options?: BrowserContextOptions) => Promise<Watched>;
  /** One signed-in page for all tests that leave nothing on it: to load the dashboard takes most of a short test's CPU. */
  readonly show: (place: string) => Promise<Watched>;
  /** Waits for the local worker to report. */
  readonly untilWorker: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The browser logs a refusal that a test provokes; that is not a fault of the page. */
const isExpected = (text: string): boolean =>
  /^Failed to load resource: .* status of (400|401|404|409|412|502|503)/.test(text);

const watch = (page: Page, origin: string): (() => string[]) => {
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !isExpected(message.text())) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol !== "data:" && host !== new URL(origin).host) faults.push(`left the origin: ${request.url()}`);
  });
  return () => faults;
};

/** A handler that is still at work when its page goes must not fail the run. */
const unroute = (context: BrowserContext): Promise<unknown> =>
  Promise.allSettled(context.pages().map((page) => page.unrouteAll({ behavior: "ignoreErrors" })));

/** Of the runtime `echo`: a worker that `npm start` runs may find another one on this machine. */
const startWorker = ({ url, adminKey }: Tenant): (() => void) => {
  const args = [SIGNALBOX, "worker", "--runtime", "echo", "--instance", "local-worker"];
  const env = { PATH: process.env.PATH ?? "", SERVICE_API_URL: url, SERVICE_API_KEY: adminKey };
  const child = spawn(process.execPath, args, { env, stdio: "ignore" });
  return () => child.kill();
};

/**
 * Ignores the policy by which a page leaves its opener, and so needs one process a page instead of two. The tests of
 * signing in, where pages of other origins lead here, keep the policy.
 */
const WITHOUT_OPENER_POLICY = path.resolve(import.meta.dirname, "../support/chromium.sh");

const launched = new Map<string, Promise<Browser>>();
/** One for all test files of this process; it ends with it. */
const sharedBrowser = async (executablePath: string): Promise<Browser> => {
  const browser = await launched.get(executablePath);
  if (browser?.isConnected()) return browser;
  const launching = chromium.launch({ executablePath, args: FLAGS, env: { ...process.env, CHROMIUM } });
  launched.set(executablePath, launching);
  return launching;
};

const BEGINS_WITHIN_MS = 120_000;
/** A place of the dashboard that shows nothing, and reads nothing. */
const NOWHERE = "nowhere";

interface Start {
  readonly hasWorker?: boolean;
  /** The environment of a server of its own. */
  readonly env?: Record<string, string>;
  readonly hasOpenerPolicy?: boolean;
}

const serverWith = async (env: Record<string, string>): Promise<Tenant> => {
  const dataDir = mkdtempSync(path.join(tmpdir(), "signalbox-dashboard-"));
  const server = await startSelfHosted(dataDir, { env: { SERVICE_CATALOG_SYNC: "0", ...env } });
  const close = async (): Promise<void> => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { url: server.url, adminKey: server.adminKey, close };
};

/** A tenant of its own, of a server that it shares unless it sets the environment. */
export const startWorld = async ({ hasWorker = true, env, hasOpenerPolicy = false }: Start = {}): Promise<World> => {
  const server = await (env === undefined ? tenantForTests() : serverWith(env));
  const stopWorker = hasWorker ? startWorker(server) : () => {};
  const browser = await sharedBrowser(hasOpenerPolicy ? CHROMIUM : WITHOUT_OPENER_POLICY);
  const call: World["call"] = (...request) => succeed({ url: server.url, key: server.adminKey }, ...request);
  const pageIn = async (context: BrowserContext, address: string): Promise<Watched> => {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE.timeout);
    const faults = watch(page, server.url);
    await page.goto(server.url + address);
    return { page, faults };
  };
  const newContext = (options: BrowserContextOptions = {}): Promise<BrowserContext> =>
    // Nothing moves, unless a test asks for it: a browser draws a page sixty times a second while anything does.
    browser.newContext({ timezoneId: "Europe/Berlin", reducedMotion: "reduce", ...options });
  const visit = async (address: string, options: BrowserContextOptions = {}): Promise<Watched> => {
    const context = await newContext(options);
    // A test that closes its whole browser has closed this before.
    onTestFinished(async () => {
      await unroute(context);
      await context.close().catch(() => undefined);
    });
    return pageIn(context, address);
  };
  const signIn = async (signedOut: (address: string) => Promise<Watched>): Promise<Watched> => {
    const watched = await signedOut(`/#key=${server.adminKey}`);
    await watched.page.getByText("Live", { exact: true }).waitFor();
    return watched;
  };
  const goTo = (page: Page, place: string) => page.goto(`${server.url}/#/${place}`);
  const open = async (place: string, options: BrowserContextOptions = {}): Promise<Watched> => {
    const watched = await signIn((address) => visit(address, options));
    await goTo(watched.page, place);
    return watched;
  };
  let shared: { readonly context: BrowserContext; readonly watched: Watched } | null = null;
  const dropShared = async (): Promise<void> => {
    const dropped = shared;
    shared = null;
    await dropped?.context.close().catch(() => undefined);
  };
  const show = async (place: string): Promise<Watched> => {
    if (shared === null) {
      const context = await newContext();
      shared = { context, watched: await signIn((address) => pageIn(context, address)) };
    }
    const { context, watched } = shared;
    onTestFinished(async ({ task }) => {
      // What a failed test leaves on the page is no other test's.
      if (task.result?.state === "fail") return dropShared();
      await unroute(context);
      await goTo(watched.page, NOWHERE);
      await watched.page.getByRole("heading", { name: "No such page" }).waitFor();
    });
    const before = watched.faults().length;
    await goTo(watched.page, place);
    return { page: watched.page, faults: () => watched.faults().slice(before) };
  };
  const untilWorker = async (): Promise<void> => {
    await eventually(async () => expect(await call("GET", "/api/workers")).toMatchObject({ total: 1 }));
  };
  const close = async (): Promise<void> => {
    await dropShared();
    stopWorker();
    await server.close();
  };
  return { server, call, visit, open, show, untilWorker, close };
};

/**
 * A world for all tests of a suite. A test that is tried again gets a new one: what its first try did would be in its
 * way. `prepare` keeps the world for the tests, and puts into it what they start from.
 */
export const worldForTests = (start: () => Promise<World>, prepare: (world: World) => unknown): void => {
  let world: World | undefined;
  const begin = async (): Promise<void> => {
    world = await start();
    await prepare(world);
  };
  beforeAll(begin, BEGINS_WITHIN_MS);
  beforeEach(async ({ task }) => {
    if (!task.result?.retryCount) return;
    await world?.close();
    await begin();
  }, BEGINS_WITHIN_MS);
  afterAll(() => world?.close());
};
