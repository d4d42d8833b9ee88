import { describe, expect, it } from "vitest";
import { checkUrl, isHostAndPort, isKeyAddress, isPrivateAddress, withoutQuery } from "../../src/catalog/url-policy.ts";

describe("models_sync_url", () => {
  it.each([
    "https://models.example.com/v1/models",
    "https://models.example.com:8443/v1/models?limit=10",
    "https://xn--bcher-kva.example/models",
  ])("%s may be fetched for a hosted provider", (url) => {
    expect(checkUrl(url, false)).toBeNull();
  });

  it.each([
    "http://models.example.com/v1/models",
    "ftp://models.example.com/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:application/json,[]",
    "models.example.com",
    "//models.example.com",
    "",
    "https://user@models.example.com/",
    "https://user:pass@models.example.com/",
    "https://:pass@models.example.com/",
    "https://models.example.com/#x",
    "https://localhost/models",
    "https://localhost./models",
    "https://models.example.com./models",
    "https://api.localhost/models",
    "https://printer.local/",
    "https://metadata.google.internal/",
    "https://nas.home.arpa/",
    "https://intranet/",
    "https://127.0.0.1/",
    "https://127.1/",
    "https://0x7f.1/",
    "https://2130706433/",
    "https://017700000001/",
    "https://１２７.０.０.１/",
    "https://0.0.0.0/",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://192.168.1.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://100.64.0.1/",
    "https://203.0.113.9/",
    "https://[::1]/",
    "https://[::]/",
    "https://[fe80::1]/",
    "https://[fd00::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[64:ff9b::7f00:1]/",
    `https://models.example.com/${"x".repeat(2048)}`,
  ])("%s may not be fetched for a hosted provider", (url) => {
    expect(checkUrl(url, false)).toMatch(/^must /);
  });

  it.each([
    "http://127.0.0.1:11434/api/tags",
    "http://localhost:1234/",
    "http://192.168.1.9/",
    "http://gpu-box/",
    "http://metadata-store/",
    "http://[::1]:8080/",
    "http://[fd00:ec2::255]/",
    "http://[fec0::1]/",
    "http://100.100.100.201/",
    "http://169.253.169.254/",
  ])("%s may be fetched for a local runtime", (url) => {
    expect(checkUrl(url, true)).toBeNull();
  });

  it.each([
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/",
    "http://[fe80::1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[fd00:ec2::254]/",
    "http://metadata.google.internal/",
    "http://metadata/",
    "http://metadata.goog/",
    "http://instance-data.ec2.internal/",
    "http://100.100.100.200/latest/meta-data/",
    "http://0x646464c8/",
    "http://[::ffff:100.100.100.200]/",
    "http://[64:ff9b::6464:64c8]/",
    "http://168.63.129.16/metadata/",
    "http://192.0.0.192/",
    "http://169.254.170.2/v2/credentials",
    "http://[fd20:ce::254]/",
    "http://[fd00:42::42]/",
    "http://[febf::1]/",
    "http://user:pass@127.0.0.1/",
    "gopher://127.0.0.1/",
  ])("%s may not be fetched even for a local runtime", (url) => {
    expect(checkUrl(url, true)).toMatch(/^must /);
  });
});

describe("a provider's key", () => {
  const provider = {
    list_url: "https://api.acme.example/v1/models",
    key_hosts: ["eu.acme.example", "acme.example:8443"],
  };

  it.each(["https://api.acme.example/other?x=1", "https://eu.acme.example/", "https://acme.example:8443/"])(
    "may go to %s",
    (url) => {
      expect(isKeyAddress(new URL(url), provider)).toBe(true);
    },
  );

  it.each([
    "http://api.acme.example/v1/models",
    "https://api.acme.example:444/",
    "https://api.acme.example.evil.example/",
    "https://evil.example/api.acme.example",
    "https://acme.example/",
    "https://sub.api.acme.example/",
    "https://api.acme.example@evil.example/",
  ])("may not go to %s", (url) => {
    expect(isKeyAddress(new URL(url), provider)).toBe(false);
  });

  it("goes through the private network only to a private address", () => {
    const isPrivate = (url: string) => isPrivateAddress(new URL(url));
    expect(
      ["http://127.0.0.1:11434/", "http://gpu-box/", "https://vault.internal/", "http://[::1]/"].every(isPrivate),
    ).toBe(true);
    expect(["https://api.openai.com/", "https://10.0.0.1.example.com/"].some(isPrivate)).toBe(false);
  });

  it("has its hosts written as URLs show them", () => {
    expect(["api.acme.example", "localhost:1234", "[::1]:8080"].every(isHostAndPort)).toBe(true);
    expect(
      [
        "https://a.example",
        "A.example",
        "a.example/",
        "*.example",
        "a b",
        "",
        "a@b",
        "a.example:80",
        "a.example:443",
      ].some(isHostAndPort),
    ).toBe(false);
  });

  it("does not show in an address that is fit for a log", () => {
    expect(withoutQuery(new URL("https://api.acme.example/v1?key=secret#x"))).toBe("https://api.acme.example/v1");
  });
});
