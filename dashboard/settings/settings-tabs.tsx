// The tabs of the settings; a standard key only reads the config.

import { pagePath } from "../router.ts";
import { isAdmin } from "../state/session.ts";

const TABS = [
  ["settings", "Config"],
  ["settings/keys", "Keys"],
  ["settings/webhooks", "Webhooks"],
  ["settings/audit", "Audit log"],
] as const;

export const SettingsTabs = () =>
  isAdmin.value ? (
    <nav class="tabs" aria-label="Settings">
      {TABS.map(([path, label]) => (
        <a key={path} href={`#/${path}`} aria-current={pagePath.value === path ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  ) : null;
