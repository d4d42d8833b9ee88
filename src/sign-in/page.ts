// The pages of a sign-in that does not lead into the dashboard: what happened, what the identity provider said, which
// rules there are. No script; every value is escaped.

import { base64 } from "../../contract/text/base64.ts";
import type { RoleRule } from "../../domain/access/role-rules.ts";
import type { Json } from "../../domain/words/json.ts";
import type { Admission } from "../../durable-objects/operations/access/sign-in.ts";
import type { AppContext } from "../http/auth.ts";
import { escapeHtml } from "../http/escape-html.ts";
import { completeResponse } from "../http/headers.ts";

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}td,th{text-align:left;padding:.25rem 1rem .25rem 0;vertical-align:top;overflow-wrap:anywhere}h2{font-size:1rem}";

interface Page {
  readonly status: number;
  readonly title: string;
  readonly text: string;
  readonly told?: Pick<Admission, "claims" | "rules" | "rule">;
  /** A link to go on with. */
  readonly next?: { readonly href: string; readonly label: string };
}

const valueText = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

const claimTable = (claims: Admission["claims"]): string => {
  const rows = Object.entries(claims).map(
    ([name, value]) =>
      `<tr><th scope="row">${escapeHtml(name)}</th><td>${value === null ? "not given" : escapeHtml(valueText(value))}</td></tr>`,
  );
  return `<h2>What the identity provider said of you</h2><table>${rows.join("")}</table>`;
};

const ruleText = ({ claim, has, equals, matches, role }: RoleRule): string => {
  const asked =
    has !== undefined ? `has ${has}` : equals !== undefined ? `equals ${String(equals)}` : `matches ${matches}`;
  return `${claim} ${asked}: ${role}`;
};

const ruleList = (rules: readonly RoleRule[]): string => {
  if (rules.length === 0) return "<p>There are no rules that give a role.</p>";
  return `<h2>The rules that give a role</h2><ol>${rules.map((rule) => `<li>${escapeHtml(ruleText(rule))}</li>`).join("")}</ol>`;
};

const bodyOf = ({ title, text, told, next }: Page): string =>
  [
    `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p>`,
    told === undefined ? "" : claimTable(told.claims),
    told === undefined ? "" : ruleList(told.rules),
    next === undefined ? "" : `<p><a href="${escapeHtml(next.href)}">${escapeHtml(next.label)}</a></p>`,
  ].join("");

export const showPage = (c: AppContext, page: Page): Response => {
  const nonce = base64(crypto.getRandomValues(new Uint8Array(16)));
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(page.title)} · Signalbox</title><style nonce="${nonce}">${STYLE}</style><main>${bodyOf(page)}</main></html>`;
  return withCookies(
    c,
    completeResponse(html, page.status, c.get("requestId"), {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      "referrer-policy": "no-referrer",
    }),
  );
};

/** The cookies that this request has set or ended so far. */
const withCookies = (c: AppContext, response: Response): Response => {
  for (const cookie of c.res.headers.getSetCookie()) response.headers.append("set-cookie", cookie);
  return response;
};
