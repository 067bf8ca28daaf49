"""The page of an endpoint or of all requests: its list, filter, selection and activity chart."""
