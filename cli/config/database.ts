import { isText, type SettingsGroup } from "./settings.ts";

/** Settings of the commands of `trellis db`, and of `trellis dev`. */
export interface DatabaseSettings {
  /**
   * Folder of the migrations.
   * @default "migrations"
   */
  migrationsDir?: string;
}

/** What {@link DatabaseSettings} may be. */
export const DATABASE_SETTINGS = {
  checks: {
    migrationsDir: ["a folder", isText],
  },
  defaults: {
    migrationsDir: "migrations",
  },
} as const satisfies SettingsGroup<DatabaseSettings, DatabaseSettings>;
