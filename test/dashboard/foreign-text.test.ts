// Text that others wrote may turn the direction of writing: the words around it stay in order.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacksBrowser, startWorld, type World } from "./browser.ts";

const TURNED = "a\u202eb\u2066c";

describe.skipIf(lacksBrowser())("text that turns the direction of writing", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
    await world.call("POST", "/api/keys", { name: TURNED, role: "viewer" });
  }, 90_000);
  afterAll(() => world?.close());

  it("is not in the reason of a killswitch", async () => {
    await world.call("POST", "/killswitch", { level: 1, reason: TURNED });
    const { page } = await world.show("");
    await page.getByText("“a b c”").waitFor();
  }, 60_000);

  it("is not in the name of who asks for a key, of which no more is shown than a name", async () => {
    const query = new URLSearchParams({ port: "9", challenge: "c", state: "s", name: TURNED + "x".repeat(500) });
    const { page } = await world.show(`grant-key?${query}`);
    await page.getByText("a b c".padEnd(80, "x"), { exact: true }).waitFor();
  }, 60_000);

  it("is in no dialog's title and in no notice", async () => {
    const { page } = await world.show("settings/keys");
    await page
      .getByRole("row", { name: TURNED })
      .getByRole("button", { name: /Revoke/ })
      .click();
    expect(await page.locator("dialog h2").textContent()).toBe("Revoke “a b c”?");
    await page.locator("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("“a b c” is revoked.").waitFor();
  }, 60_000);
});
