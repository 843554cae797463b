"use client";
import { useState } from "react";
import { client } from "./api";

/** Signs in, and shows the error of each status in its own words. */
export function SignIn({ onSignIn }: { onSignIn: () => void }) {
  const [message, setMessage] = useState("");

  async function signIn(form: FormData): Promise<void> {
    const result = await client.POST("/auth/sign-in/email", {
      body: { email: String(form.get("email")), password: String(form.get("password")) },
    });
    if (result.status === 200) onSignIn();
    else if (result.status === 401) setMessage(`Not accepted: ${result.error.code}`);
    else setMessage(`Status ${result.status}`);
  }

  return (
    <form action={signIn}>
      <input name="email" />
      <input name="password" type="password" />
      <button>Sign in</button>
      <p role="alert">{message}</p>
    </form>
  );
}
