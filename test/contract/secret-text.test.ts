import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { secretForms } from "../../contract/text/secret-text.ts";

const SECRET = "sk-test/abc+é0123456789";
const isFound = (text: string, secret = SECRET): boolean => secretForms(secret).some((form) => text.includes(form));
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const base64Url = (text: string): string => Buffer.from(text).toString("base64url");

describe("a secret in a text", () => {
  it.each([
    ["as it is", `key ${SECRET}!`],
    ["encoded for a URL", `?key=${encodeURIComponent(SECRET)}`],
    ["in base64", base64(SECRET)],
    ["in base64url", base64Url(SECRET)],
    ["in base64 within a URL", encodeURIComponent(base64(SECRET))],
    ["in the base64 of a whole header", base64(`Bearer ${SECRET}`)],
    ["in the base64 of a name and a password", base64(`user:${SECRET}`)],
    ["in the base64 of a JSON body", base64Url(`{"a":"${SECRET}","b":1}`)],
  ])("is recognised %s", (_, text) => {
    expect(isFound(text)).toBe(true);
  });

  it("is recognised in base64 wherever it stands", () => {
    const word = fc.string({ minLength: 8, maxLength: 60, unit: "grapheme-ascii" });
    fc.assert(
      fc.property(word, fc.string(), fc.string(), (secret, before, after) => {
        expect(isFound(base64(before + secret + after), secret)).toBe(true);
        expect(isFound(base64Url(before + secret + after), secret)).toBe(true);
      }),
    );
  });

  it("is not seen where another one stands, and a short one only as it is", () => {
    expect(isFound(base64(`Bearer ${SECRET.replace("abc", "abd")}`))).toBe(false);
    expect(secretForms("short")).toEqual(["short"]);
    expect(secretForms("")).toEqual([]);
  });
});
