"""The pages, and in `site` what of them is made from the code."""
