import type { CommandOption } from "../terminal/command.ts";

/** The options of commands that run Terraform. */
export const TERRAFORM_OPTIONS: readonly CommandOption[] = [
  {
    name: "terraform",
    value: "program",
    description: "The program. Default: terraform, else tofu.",
  },
  {
    name: "modules-path",
    value: "folder",
    description: "Folder of the Terraform modules. Default: the one in the package.",
  },
];
