// Connecting things from the dashboard: chatting with a model, adding a worker, webhooks, rotating a leaked key.

import { describe, expect, it } from "vitest";
import { lacksBrowser, NETWORK_NAME, startWorld, type World, worldForTests } from "./browser.ts";

describe.skipIf(lacksBrowser())("plugging in", () => {
  let world: World;
  worldForTests(startWorld, async (started) => {
    world = started;
    await world.untilWorker();
  });

  it("a model of the fleet is talked to, and the answer says who gave it and what it took", async () => {
    const { page, faults } = await world.open("playground");
    await page.getByLabel("Model", { exact: true }).selectOption("echo");
    await page.getByLabel("Say").fill("the points are set");
    await page.getByRole("button", { name: "Send" }).click();
    const answer = page.locator(".turn-assistant");
    await answer.getByText("the points are set").waitFor();
    await answer.getByText(/^first token/).waitFor();
    await answer.getByText("$0.00").waitFor();
    const { workers } = await world.call<{ workers: { instance: string }[] }>("GET", "/api/workers");
    await answer.getByRole("link", { name: workers[0]?.instance ?? "none" }).waitFor();
    expect(faults()).toEqual([]);
  });

  it("who sends and stops by keyboard does not come to what throws the talk away", async () => {
    const { page } = await world.open("playground?model=echo");
    await page.route("**/v1/chat/completions", () => undefined);
    const focused = (): Promise<string> =>
      page.evaluate(() => document.activeElement?.textContent?.trim() || (document.activeElement?.tagName ?? ""));
    await page.getByLabel("Say").fill("hold the line");
    await page.getByRole("button", { name: "Send" }).press("Enter");
    await expect.poll(focused).toBe("Stop");
    await page.keyboard.press("Enter");
    await expect.poll(focused).toBe("TEXTAREA");
    await page.getByRole("button", { name: "Begin again" }).press("Enter");
    await expect.poll(focused).toBe("TEXTAREA");
  });

  it("a model whose name is one long word stays in its panel", async () => {
    const { page } = await world.visit("/");
    const long = { id: "m".repeat(120), object: "model", created: 1, owned_by: "ollama" };
    await page.route("**/v1/models", (route) => route.fulfill({ json: { object: "list", data: [long] } }));
    await page.goto(`${world.server.url}/#key=${world.server.adminKey}`);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.goto(`${world.server.url}/#/playground`);
    const title = page.getByRole("heading", { name: long.id });
    const isInside = await title.evaluate((head) => head.scrollWidth <= (head.closest("section")?.clientWidth ?? 0));
    expect(isInside).toBe(true);
  });

  it("the same request stands there as curl and for three SDKs, with no key in it", async () => {
    const { page } = await world.show("playground?model=echo");
    for (const [language, word] of [
      ["curl", "/v1/chat/completions"],
      ["Python", "from openai import OpenAI"],
      ["TypeScript", 'import OpenAI from "openai"'],
      ["AI SDK", "createOpenAICompatible"],
    ] as const) {
      await page.getByRole("radio", { name: language, exact: true }).press("Space");
      const text = (await page.getByRole("region", { name: `Request as ${language}` }).textContent()) ?? "";
      expect(text).toContain(word);
      expect(text).toContain("SERVICE_API_KEY");
      expect(text).not.toContain("sbx_");
    }
  });

  it("a worker gets a key of its own and one line to run, and is shown when it comes", async () => {
    const { page, faults } = await world.show("fleet");
    await page.getByRole("link", { name: "Add a worker" }).click();
    // The fleet's page has a field with "name" in its label, too.
    await page.getByRole("heading", { name: "Add a worker" }).waitFor();
    await page.getByLabel("Name").fill("new-box");
    await page.getByLabel("Tags").fill("gpu,eu");
    await page.getByRole("button", { name: "Make its key" }).click();
    const command = (await page.getByRole("region", { name: "Command" }).textContent()) ?? "";
    expect(command).toContain(`npx --allow-remote=root ${world.server.url}/signalbox.tgz worker --runtime ollama`);
    expect(command).toContain(`SERVICE_API_URL=${world.server.url}`);
    const key = /SERVICE_API_KEY=(\S+)/.exec(command)?.[1] ?? "";
    const { status } = await fetch(`${world.server.url}/api/jobs`, { headers: { authorization: `Bearer ${key}` } });
    expect(status).toBe(403);
    await page.getByText("Waiting for new-box").waitFor();
    const report = { instance: "new-box", provider: "ollama", tags: "gpu,eu" };
    const told = await fetch(`${world.server.url}/presence`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(report),
    });
    expect(told.status).toBe(200);
    await page.getByText("has come").waitFor();
    expect(faults()).toEqual([]);
  });

  it.each([
    ["Any command", /signalbox\.tgz worker --exec 'tr a-z A-Z' --provider upper --instance own-box/],
    [
      "A Python function",
      /venv\/bin\/pip install \S+\/signalbox-\S+\.whl[\s\S]*@worker\(provider="upper", instance="own-box"/,
    ],
    ["A TypeScript function", /npm install --allow-remote=root \S+\/signalbox\.tgz[\s\S]*from .signalbox\/worker./],
  ])("%s is added as a worker, with text to copy", async (way, text) => {
    const { page, faults } = await world.show("fleet/~add");
    await page.getByLabel("Name").fill("own-box");
    await page.getByLabel("What does the work").selectOption({ label: way });
    await page.getByRole("button", { name: "Make its key" }).click();
    const command = (await page.getByRole("region", { name: "Command" }).textContent()) ?? "";
    expect(command).toMatch(text);
    expect(command).toMatch(/^export SERVICE_API_URL=\S+ SERVICE_API_KEY=\S+$/m);
    expect(faults()).toEqual([]);
  });

  it("a webhook is made with a secret shown once, tested, redelivered and rotated", async () => {
    const { page, faults } = await world.show("settings/webhooks");
    await page.getByText("No webhook yet.").waitFor();
    await page.getByRole("button", { name: "New webhook" }).click();
    await page.getByLabel("Address").fill("https://signalbox.invalid/hook");
    await page.getByRole("button", { name: "Create" }).click();
    const secret = (await page.locator(".secret").textContent()) ?? "";
    expect(secret).toMatch(/^whsec_/);
    await page.getByRole("button", { name: "I have saved it" }).click();
    // With several endpoints a button's name says which it is for.
    const named = (label: string) => page.getByRole("button", { name: `${label} https://signalbox.invalid/hook` });
    for (const label of ["Deliveries to", "Edit", "Delete"]) await expect.poll(() => named(label).count()).toBe(1);
    await named("Test").click();
    await page.getByText("webhook.test", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: /^Redeliver webhook.test/ }).click();
    await page.getByText("It is sent again.").waitFor();
    await named("Rotate").click();
    await page.getByRole("dialog").getByText("https://signalbox.invalid/hook").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
    await page.getByText("Copy it now").waitFor();
    expect(await page.locator(".secret").textContent()).not.toBe(secret);
    expect(faults()).toEqual([]);
  });

  it("what two people change at once in one webhook, key, schedule or subscription, both stays", async () => {
    const asked = { url: "https://signalbox.invalid/both", events: ["job.failed"], description: "first" };
    const { id: hook } = await world.call<{ id: string }>("POST", "/api/webhooks", asked);
    const made = { name: "both", role: "client", limits: { concurrent: 3 } };
    const { id: key } = await world.call<{ id: string }>("POST", "/api/keys", made);
    await world.call("POST", "/api/schedules", { name: "both", interval: "24h", prompt: "first", tags: ["gpu"] });
    const { page, faults } = await world.show("settings/webhooks");
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: `Edit ${asked.url}` }).click();
    await dialog.getByLabel("Description").fill("second");
    await world.call("PATCH", `/api/webhooks/${hook}`, { tags: ["of-somebody-else"] });
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Webhook changed.").waitFor();
    expect(await world.call("GET", `/api/webhooks/${hook}`)).toMatchObject({
      description: "second",
      tags: ["of-somebody-else"],
    });
    await page.goto(`${world.server.url}/#/settings/keys`);
    await page.getByRole("button", { name: "Edit both" }).click();
    await dialog.getByLabel("Name").fill("both together");
    await dialog.getByLabel("Dollars per day").first().fill("2");
    await dialog.getByLabel("Dollars of each user per day").fill("0.5");
    const theirs = { concurrent: 1, requests_per_minute: 60, per_user: { concurrent: 1 } };
    await world.call("PATCH", `/api/keys/${key}`, { limits: theirs });
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("“both together” is changed.").waitFor();
    const { keys } = await world.call<{ keys: object[] }>("GET", "/api/keys");
    const limits = { ...theirs, day_usd: 2, per_user: { concurrent: 1, day_usd: 0.5 } };
    expect(keys).toContainEqual(expect.objectContaining({ name: "both together", limits }));
    await page.goto(`${world.server.url}/#/schedules/both/edit`);
    await page.getByLabel("Prompt").fill("second");
    await world.call("PUT", "/api/schedules/both", { tags: ["h100"], interval: "12h" });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("both is saved.").waitFor();
    expect(await world.call("GET", "/api/schedules/both")).toMatchObject({
      prompt: "second",
      tags: ["h100"],
      interval: "12h",
    });
    const subscription = await world.call<{ id: string }>("POST", "/catalog/subscriptions", { provider: "mistral" });
    await page.goto(`${world.server.url}/#/catalog/${subscription.id}`);
    await page.getByRole("button", { name: "Edit" }).click();
    await dialog.getByLabel("Sync schedule").fill("0 3 * * *");
    const models_sync_url = "https://signalbox.invalid/models";
    await world.call("PATCH", `/catalog/subscriptions/${subscription.id}`, { models_sync_url });
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Subscription changed.").waitFor();
    const { subscriptions } = await world.call<{ subscriptions: object[] }>("GET", "/catalog/subscriptions");
    expect(subscriptions).toContainEqual(
      expect.objectContaining({ id: subscription.id, models_sync_schedule: "0 3 * * *", models_sync_url }),
    );
    expect(faults()).toEqual([]);
  });

  it("the limits of a key are changed, and taken away again", async () => {
    await world.call("POST", "/api/keys", { name: "app", role: "client", limits: { concurrent: 3 } });
    const { page, faults } = await world.show("settings/keys");
    const row = page.getByRole("row").filter({ hasText: "app" });
    await row.getByText("3 open jobs at the same time").waitFor();
    await page.getByRole("button", { name: "Edit app" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Open jobs at the same time").fill("");
    await dialog.getByLabel("Dollars per day").fill("2.5");
    await dialog.getByLabel("Models").fill("gpt-*, echo");
    await dialog.getByRole("button", { name: "Save" }).click();
    await row.getByText("$2.50 per day · models gpt-*, echo").waitFor();
    const { keys } = await world.call<{ keys: { name: string; limits: unknown }[] }>("GET", "/api/keys");
    expect(keys.find(({ name }) => name === "app")?.limits).toEqual({ day_usd: 2.5, models: ["gpt-*", "echo"] });
    expect(faults()).toEqual([]);
  });

  it("a key is found among thousands, and where a link leads to it", async () => {
    const { page, faults } = await world.open("");
    const { keys } = await world.call<{ keys: object[] }>("GET", "/api/keys");
    const many = Array.from({ length: 2_000 }, (_, at) => ({ ...keys[0], id: `key_${at}`, name: `team ${at}` }));
    await page.route("**/api/keys", (route) => route.fulfill({ json: { keys: many } }));
    await page.goto(`${world.server.url}/#/settings/keys?key=key_1999`);
    const rows = page.getByRole("table", { name: "Keys", exact: true }).locator("tbody tr");
    await page.getByText("1,799 more: find them by name.").waitFor();
    await expect.poll(() => rows.count()).toBe(201);
    expect(await rows.last().textContent()).toContain("team 1999");
    await page.getByLabel("Find among 2,000 keys").fill("TEAM 1234");
    await expect.poll(() => rows.count()).toBe(1);
    expect(await rows.textContent()).toContain("key_1234");
    await page.getByLabel("Find among 2,000 keys").fill("nobody");
    await page.getByText("None of them is called “nobody”.").waitFor();
    expect(faults()).toEqual([]);
  }, 60_000);

  it("a key that leaked is rotated in five actions", async () => {
    await world.call("POST", "/api/keys", { name: "leaked", role: "standard" });
    const { page, faults } = await world.open("");
    await page.getByRole("link", { name: "Settings", exact: true }).click();
    await page.getByRole("link", { name: "Keys", exact: true }).click();
    await page.getByRole("button", { name: "Rotate leaked" }).click();
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    await page.getByText("Copy it now").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Copy" }).click();
    expect(faults()).toEqual([]);
  });

  it("by http from another machine jobs are made and copied, though the browser offers less there", async () => {
    const address = world.server.url.replace("127.0.0.1", NETWORK_NAME);
    const { page } = await world.visit("/");
    await page.goto(`${address}/#key=${world.server.adminKey}`);
    await page.getByText("Live", { exact: true }).waitFor();
    expect(await page.evaluate(() => isSecureContext)).toBe(false);
    await page.goto(`${address}/#/jobs/new`);
    await page.getByLabel("Prompt").fill("from the workshop");
    await page.getByRole("button", { name: "Put in the queue" }).click();
    await page.getByText("Queued.").waitFor();
    await page.getByRole("button", { name: "Copy: id" }).click();
    await page.getByText("Copied.").waitFor();
    await page.goto(`${address}/#/jobs`);
    await page.getByLabel("Search").click();
    await page.keyboard.press("Control+v");
    await page.getByRole("row", { name: "from the workshop" }).waitFor();
    await world.call("POST", "/api/schedules", { name: "workshop", interval: "24h", prompt: "Sweep" });
    await page.goto(`${address}/#/schedules`);
    await page.getByRole("button", { name: "Run now: workshop" }).click();
    await page.getByText("workshop runs now.").waitFor();
  });
});
