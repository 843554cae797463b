import { isText, type SettingsGroup } from "./settings.ts";

/** Settings of `trellis generate infra`. */
export interface InfraSettings {
  /**
   * Folder of the generated Terraform files.
   * @default "infra"
   */
  dir?: string;
}

/** What {@link InfraSettings} may be. */
export const INFRA_SETTINGS = {
  checks: {
    dir: ["a folder", isText],
  },
  defaults: {
    dir: "infra",
  },
} as const satisfies SettingsGroup<InfraSettings, InfraSettings>;
