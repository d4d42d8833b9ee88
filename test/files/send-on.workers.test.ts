import { expect, test } from "vitest";
import { sendOn } from "../../src/files/send-on.ts";

test("a receiver that answers before it has all has answered, though the rest is not taken", async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield new Uint8Array(64 * 1024);
  }
  const answered = sendOn(endless(), async (body) => {
    const reader = body.getReader();
    await reader.read();
    await reader.cancel("enough");
    return "too much";
  });
  expect(await answered).toBe("too much");
});
