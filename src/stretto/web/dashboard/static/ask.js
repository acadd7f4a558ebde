// Answers "why not on this node" without leaving the page.

for (const form of document.querySelectorAll("form[data-ask]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const url = new URL(form.action, location.href);
    url.searchParams.set("node", new FormData(form).get("node"));
    url.searchParams.set("part", "1");
    const response = await fetch(url);
    form.parentElement.querySelector("[data-answer]").innerHTML = await response.text();
  });
}
