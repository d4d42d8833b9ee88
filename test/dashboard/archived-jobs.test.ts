// The jobs page lists the archive where there is one: answers of an archive, in front of a real server.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacksBrowser, startWorld, type World } from "./browser.ts";

describe.skipIf(lacksBrowser())("the jobs page with an archive", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({ hasWorker: false });
  }, 90_000);
  afterAll(() => world?.close());

  it("has a chip that lists it, page by page, and nothing that would change its jobs", async () => {
    const { id } = await world.call<{ id: string }>("POST", "/api/jobs", { prompt: "in history" });
    await world.call("POST", `/api/jobs/${id}/cancel`, {});
    const job = await world.call<object>("GET", `/api/jobs/${id}`);
    const old = { ...job, id: "01a20000-0000-7000-8000-000000000000", prompt: "an old zebra", archived: true };
    const asked: URLSearchParams[] = [];
    const { page, faults } = await world.open("settings");
    await page.route(/\/api\/archive\?/, (route) =>
      route.fulfill({ json: { days: [{ day: "2025-11-01", jobs: 1, parts: 1, bytes: 9 }], total: 1 } }),
    );
    await page.route(/\/api\/jobs\?.*archived=true/, (route) => {
      const { searchParams } = new URL(route.request().url());
      asked.push(searchParams);
      const isFirst = !searchParams.has("cursor");
      const read = isFirst
        ? { jobs: [], next_cursor: "on" }
        : { jobs: [old], next_cursor: null, damaged_parts: ["2025-11-01/a", "2025-11-01/b"] };
      return route.fulfill({ json: { ...read, total: read.jobs.length, total_is_capped: isFirst } });
    });
    await page.route(new RegExp(`/api/jobs/${old.id}$`), (route) => route.fulfill({ json: old }));
    await page.route(new RegExp(`/api/jobs/${old.id}/events$`), (route) => route.fulfill({ json: { events: [] } }));
    await page.route(new RegExp(`/api/jobs/${old.id}/attempts$`), (route) => route.fulfill({ json: { attempts: [] } }));

    await page.goto(`${world.server.url}/#/jobs?sort=cost_usd`);
    await page.getByLabel("Order").waitFor();
    await page.getByRole("button", { name: "archived", exact: true }).click();
    await page.getByText("From the archive").waitFor();
    await page.getByText("go on with Next").waitFor();
    expect(await page.getByText("cannot be read").count()).toBe(0);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("link", { name: "an old zebra" }).waitFor();
    await page.getByText("part 2025-11-01/a of the archive and 1 other part cannot be read").waitFor();
    expect(await page.getByRole("checkbox").count()).toBe(0);
    expect(await page.getByLabel("Order").count()).toBe(0);
    // The API takes neither an offset nor another order of the archive.
    for (const query of asked) expect([query.has("offset"), query.has("sort")]).toEqual([false, false]);

    await page.getByRole("link", { name: "an old zebra" }).click();
    await page.getByText("it has left history").waitFor();
    await page.getByRole("link", { name: "Create a copy" }).waitFor();
    for (const name of ["Retry", "Edit", "Cancel"])
      expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0);
    await page.goBack();
    await page.getByRole("button", { name: "archived", exact: true }).click();
    await page.getByRole("link", { name: "in history" }).waitFor();
    expect(faults()).toEqual([]);
  }, 60_000);
});
