// The frame of the settings' pages: the tabs of those that the user may open. The browser's tab is named after the one
// that is shown.

import type { ComponentChildren } from "preact";
import { Page } from "../parts/page.tsx";
import { pagePath } from "../router.ts";
import { mayOpen } from "../state/may-open.ts";

const TABS = [
  ["settings", "Config"],
  ["settings/keys", "Keys"],
  ["settings/sign-in", "Sign-in"],
  ["settings/people", "People"],
  ["settings/webhooks", "Webhooks"],
  ["settings/audit", "Audit log"],
] as const;

export const settingsPages = () => TABS.filter(([path]) => mayOpen(path));

/** None for those who only read the config. */
const Tabs = () => {
  const pages = settingsPages();
  if (pages.length === 1) return null;
  return (
    <nav class="tabs" aria-label="Settings">
      {pages.map(([path, label]) => (
        <a key={path} href={`#/${path}`} aria-current={pagePath.value === path ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
};

export const SettingsPage = ({ actions, children }: { actions?: ComponentChildren; children: ComponentChildren }) => (
  <Page title="Settings" tab={TABS.find(([path]) => path === pagePath.value)?.[1]} actions={actions}>
    <Tabs />
    {children}
  </Page>
);
