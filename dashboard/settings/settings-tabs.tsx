// The tabs of the settings; others only read the config, and people have keys of their own.

import { pagePath } from "../router.ts";
import { isAdmin, isPerson } from "../state/session.ts";

const TABS = [
  ["settings", "Config"],
  ["settings/keys", "Keys"],
  ["settings/sign-in", "Sign-in"],
  ["settings/people", "People"],
  ["settings/webhooks", "Webhooks"],
  ["settings/audit", "Audit log"],
] as const;

/** What a person may see without being an administrator: the config, and the own keys. */
const OF_PEOPLE: readonly string[] = ["settings", "settings/keys"];

/** Those that the signed-in user may open. */
export const settingsPages = () =>
  TABS.filter(([path]) => isAdmin.value || path === "settings" || (isPerson.value && OF_PEOPLE.includes(path)));

export const SettingsTabs = () =>
  isAdmin.value || isPerson.value ? (
    <nav class="tabs" aria-label="Settings">
      {settingsPages().map(([path, label]) => (
        <a key={path} href={`#/${path}`} aria-current={pagePath.value === path ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  ) : null;
