import { isText, type SettingsGroup } from "./settings.ts";

/** Settings of `trellis build`. */
export interface BuildSettings {
  /**
   * Folder of the bundles.
   * @default "dist"
   */
  dir?: string;
}

/** What {@link BuildSettings} may be. */
export const BUILD_SETTINGS = {
  checks: {
    dir: ["a folder", isText],
  },
  defaults: {
    dir: "dist",
  },
} as const satisfies SettingsGroup<BuildSettings, BuildSettings>;
