import type { SettingsGroup } from "./settings.ts";

/** Settings of `trellis dev`. */
export interface DevSettings {
  /**
   * The port on loopback.
   * @default 8787
   */
  port?: number;
}

/** What {@link DevSettings} may be. */
export const DEV_SETTINGS = {
  checks: {
    port: ["a port, 1 to 65535", (value) => Number.isInteger(value) && Number(value) > 0 && Number(value) < 65536],
  },
  defaults: {
    port: 8787,
  },
} as const satisfies SettingsGroup<DevSettings, DevSettings>;
