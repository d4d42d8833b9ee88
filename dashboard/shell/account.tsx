// Theme and sign-out: in the top bar, on a phone behind "More".

import { go } from "../router.ts";
import { tellError } from "../state/notice.ts";
import { signOut } from "../state/session.ts";
import { chooseTheme, THEMES, type Theme, theme } from "../state/theme.ts";

const THEME_NAMES: Record<Theme, string> = { system: "System theme", light: "Light theme", dark: "Dark theme" };

const ThemeChoice = () => (
  <select
    class="quiet theme-choice"
    aria-label="Theme"
    value={theme.value}
    onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}
  >
    {THEMES.map((one) => (
      <option key={one} value={one} selected={one === theme.value}>
        {THEME_NAMES[one]}
      </option>
    ))}
  </select>
);

const endSession = async (): Promise<void> => {
  try {
    await signOut();
    go("#/");
  } catch (error) {
    tellError(new Error(`You are still signed in: ${(error as Error).message}`));
  }
};

export const Account = () => (
  <>
    <ThemeChoice />
    <button type="button" class="button quiet" onClick={endSession}>
      Sign out
    </button>
  </>
);
