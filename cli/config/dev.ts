import { isText, type SettingsGroup } from "./setting_rules.ts";

/** Settings of `trellis dev`. */
export interface DevSettings {
  /**
   * The port on the loopback address.
   * @default 8787
   */
  port?: number;
  /**
   * Seeds a new database: a `.sql` file, or a module that exports `async function seed({ db })`. It
   * runs once, after the first migrations.
   */
  seed?: string;
}

/** Checks and defaults of {@link DevSettings}. */
export const DEV_SETTINGS = {
  checks: {
    port: [
      "a port, 1 to 65535",
      (value) => Number.isInteger(value) && Number(value) > 0 && Number(value) < 65536,
    ],
    seed: [
      "a file that ends in .sql, .ts, .mts, .js or .mjs",
      (value) => isText(value) && /\.(?:sql|m?[tj]s)$/.test(String(value)),
    ],
  },
  defaults: {
    port: 8787,
  },
} as const satisfies SettingsGroup<DevSettings, DevSettings>;
