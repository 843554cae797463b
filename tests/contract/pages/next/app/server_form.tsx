"use client";
import { useActionState } from "react";
import { createOrganization } from "./actions";

export function ServerForm() {
  const [message, action] = useActionState(createOrganization, "");
  return (
    <form action={action} id="server">
      <input name="name" />
      <input name="slug" />
      <button>Create on the server</button>
      <output>{message}</output>
    </form>
  );
}
