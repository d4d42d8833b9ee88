// What needs attention: removed models, storage that fills up, webhooks that fail, each with the way to it.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacksBrowser, startWorld, type World } from "./browser.ts";

describe.skipIf(lacksBrowser())("what needs attention on the overview", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({ hasWorker: false });
  }, 90_000);
  afterAll(() => world?.close());

  it("shows a removed model that somebody names, storage that fills up, and a webhook that was given up, with the way to each", async () => {
    const { page, faults } = await world.open("settings");
    const removed = { provider: "openai", models_in_use: ["gpt-old"], waiting_jobs: 4, workers: ["w1"], schedules: [] };
    const given = {
      url: "https://hooks.example/x?secret=1",
      enabled: false,
      disabled_reason: "410 Gone",
      failing_since: null,
    };
    const turnedOff = { ...given, url: "https://other.example/x", disabled_reason: "disabled by an operator" };
    await page.routeWebSocket(/\/live$/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((text) =>
        socket.send(
          String(text)
            .replace('"removed_models":[]', `"removed_models":[${JSON.stringify(removed)}]`)
            .replace('"storage_warnings":[]', '"storage_warnings":["This tenant stores 16 of 20 GB (80 %)."]'),
        ),
      );
    });
    await page.route("**/api/webhooks", (route) => route.fulfill({ json: { webhooks: [given, turnedOff] } }));
    await page.reload();
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    const model = page.getByRole("link", {
      name: "openai no longer lists gpt-old: still named by 4 waiting jobs; worker w1",
    });
    expect(await model.getAttribute("href")).toBe("#/catalog");
    const webhook = page.getByRole("link", { name: "The webhook to hooks.example is disabled: 410 Gone" });
    expect(await webhook.getAttribute("href")).toBe("#/settings/webhooks");
    const storage = page.getByRole("link", { name: "This tenant stores 16 of 20 GB (80 %)." });
    expect(await storage.getAttribute("href")).toBe("#/settings");
    expect(faults()).toEqual([]);
  });

  it("names webhooks that fail together in one line", async () => {
    const { page, faults } = await world.open("settings");
    const since = "2026-11-20T10:00:00.000Z";
    const failing = ["a.example", "b.example", "b.example"].map((host) => ({
      url: `https://${host}/x`,
      enabled: true,
      disabled_reason: null,
      failing_since: since,
    }));
    await page.route("**/api/webhooks", (route) => route.fulfill({ json: { webhooks: failing } }));
    await page.reload();
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await page.getByRole("link", { name: "3 webhooks are failing: a.example, b.example", exact: true }).waitFor();
    await expect.poll(() => page.getByRole("list", { name: "Needs attention" }).getByText("failing").count()).toBe(1);
    expect(faults()).toEqual([]);
  });

  it("says in the list of webhooks why one fails, as soon as it does", async () => {
    const { page, faults } = await world.open("");
    const webhook = {
      id: "wh_1",
      url: "https://hooks.example/x",
      events: ["job.failed"],
      tags: [],
      description: null,
      enabled: true,
      disabled_at: null,
      disabled_reason: null,
      failing_since: "2026-11-20T10:00:00.000Z",
    };
    const delivery = { id: "d", event: "job.failed", at: webhook.failing_since, attempts: 2, next_attempt_at: null };
    const deliveries = [
      { ...delivery, status: "delivered", response_status: 200, error: null },
      { ...delivery, status: "pending", response_status: 502, error: "the endpoint answered 502" },
    ];
    let failing_since: string | null = null;
    await page.route("**/api/webhooks", (route) =>
      route.fulfill({ json: { webhooks: [{ ...webhook, failing_since }] } }),
    );
    await page.route("**/api/webhooks/wh_1/deliveries?*", (route) =>
      route.fulfill({ json: { deliveries, total: 2, limit: 20, offset: 0 } }),
    );
    await page.goto(`${world.server.url}/#/settings/webhooks`);
    await page.getByText("enabled", { exact: true }).waitFor();
    failing_since = webhook.failing_since;
    await page.getByText("Last answer: status 502: the endpoint answered 502").waitFor();
    expect(faults()).toEqual([]);
  });
});
