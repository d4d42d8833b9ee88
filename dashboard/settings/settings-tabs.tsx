// The tabs of the settings: those of the pages that the user may open.

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
export const SettingsTabs = () => {
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
