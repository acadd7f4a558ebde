// Shows the answers of forms with data-ask on the same page.

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!("ask" in form.dataset)) return;
  event.preventDefault();
  const url = new URL(form.action, location.href);
  for (const [name, value] of new FormData(form)) url.searchParams.set(name, value);
  url.searchParams.set("part", "1");
  const place = form.parentElement.querySelector("[data-answer]");
  place.textContent = "Computing …";
  try {
    const response = await fetch(url);
    place.innerHTML = await response.text();
  } catch {
    place.textContent = "The server does not answer. Try again.";
  }
});
