import { expect, it } from "vitest";
import { withoutProxy } from "../../worker/no-proxy.ts";

const isDirect = (noProxy: string, url: string): boolean => withoutProxy(noProxy)(new URL(url));

it.each([
  ["*", "https://any.test"],
  ["127.0.0.1,*", "https://any.test"],
  ["Corp.test", "http://corp.test:8787"],
  ["corp.test", "http://box.corp.test"],
  [".corp.test", "http://box.corp.test"],
  ["*.corp.test", "http://box.corp.test"],
  ["other.test  corp.test", "http://corp.test"],
  ["10.0.0.0/8", "http://10.1.2.3:11434"],
  ["10.1.2.3", "http://10.1.2.3"],
  ["10.1.2.3:443", "https://10.1.2.3"],
  ["corp.test:8787", "http://corp.test:8787"],
  ["::1", "http://[::1]:8787"],
  ["[0:0::1]:8787", "http://[::1]:8787"],
  ["fd00::/8", "http://[fd12:3456::1]"],
])("of %j reaches %s without a proxy", (noProxy, url) => expect(isDirect(noProxy, url)).toBe(true));

it.each([
  ["", "http://corp.test"],
  ["corp.test", "http://mycorp.test"],
  ["corp.test:8787", "http://corp.test"],
  ["10.0.0.0/8", "http://11.0.0.1"],
  ["10.0.0.0/33", "http://10.0.0.1"],
  ["10.0.0.0/", "http://10.0.0.1"],
  ["10.0.0.0/8", "http://10.test"],
  ["0.0.0.0/0", "http://[::1]"],
  ["fd00::/8", "http://[fe80::1]"],
])("of %j asks the proxy for %s", (noProxy, url) => expect(isDirect(noProxy, url)).toBe(false));
